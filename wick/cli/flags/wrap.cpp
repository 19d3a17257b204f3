#include "wick/cli/flags/wrap.h"

#include <algorithm>

#include "wick/base/utf8.h"

namespace wick {

size_t columns_of(std::string_view text) { return count_characters(text); }

std::string wrap(std::string_view text, size_t indent, size_t width) {
  const std::string margin = "\n" + std::string(indent, ' ');
  std::string wrapped;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    if (!wrapped.empty()) wrapped += line.empty() ? "\n" : margin;
    if (line.starts_with(' ')) {
      wrapped += line;
      continue;
    }
    size_t column = indent;
    for (size_t at = 0; at < line.size();) {
      const size_t stop = std::min(line.find(' ', at), line.size());
      const std::string_view word = line.substr(at, stop - at);
      at = stop + 1;
      const size_t length = columns_of(word);
      if (column > indent && column + 1 + length > width) {
        wrapped += margin;
        column = indent;
      }
      if (column > indent) {
        wrapped += ' ';
        ++column;
      }
      wrapped += word;
      column += length;
    }
  }
  return wrapped;
}

}  // namespace wick
