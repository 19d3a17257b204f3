#include "wick/formats/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace wick {
namespace {

constexpr size_t kMaxShown = 80;

// Bytes of the UTF-8 character that starts text, or 0 if none does.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t index) { return static_cast<uint8_t>(text[index]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (size_t index = 1; index < length; ++index) {
    if ((byte(index) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
  const bool no_character = (lead == 0xed && byte(1) >= 0xa0) || (lead == 0xf4 && byte(1) >= 0x90);
  const bool control = lead == 0xc2 && byte(1) < 0xa0;  // C1; U+2028 and U+2029 break lines too
  const bool line_break = lead == 0xe2 && byte(1) == 0x80 && (byte(2) == 0xa8 || byte(2) == 0xa9);
  return overlong || no_character || control || line_break ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown = "'";
  size_t at = 0;
  while (at < text.size() && at < kMaxShown) {
    const size_t length = utf8_length(text.substr(at));
    const auto byte = static_cast<uint8_t>(text[at]);
    if (length == 0 || byte < 0x20 || byte == 0x7f) {
      fmt::format_to(std::back_inserter(shown), "\\x{:02x}", byte);
      ++at;
    } else {
      shown.append(text.substr(at, length));
      at += length;
    }
  }
  if (at < text.size()) shown += "…";
  shown += '\'';
  return shown;
}

std::string printable(std::span<const std::byte> bytes) {
  return printable(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

}  // namespace wick
