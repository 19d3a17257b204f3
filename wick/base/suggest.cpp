#include "wick/base/suggest.h"

#include <algorithm>
#include <vector>

namespace wick {

size_t edit_distance(std::string_view left, std::string_view right) {
  // Three rows of the table: prefixes of `left` two shorter, one shorter, and the current one.
  std::vector<size_t> before_last(right.size() + 1);
  std::vector<size_t> last(right.size() + 1);
  std::vector<size_t> row(right.size() + 1);
  for (size_t column = 0; column <= right.size(); ++column) last[column] = column;
  for (size_t line = 1; line <= left.size(); ++line) {
    row[0] = line;
    for (size_t column = 1; column <= right.size(); ++column) {
      const size_t replaced = last[column - 1] + (left[line - 1] == right[column - 1] ? 0 : 1);
      row[column] = std::min({replaced, last[column] + 1, row[column - 1] + 1});
      const bool swapped = line > 1 && column > 1 && left[line - 1] == right[column - 2] && left[line - 2] == right[column - 1];
      if (swapped) row[column] = std::min(row[column], before_last[column - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[right.size()];
}

std::string suggest(std::string_view word, std::span<const std::string> known) {
  const size_t letters = word.size() - std::min(word.find_first_not_of('-'), word.size());
  if (letters < 2) return {};
  const size_t most = std::max<size_t>(1, letters / 3);
  std::string best;
  size_t fewest = most + 1;
  for (const std::string& candidate : known) {
    const size_t edits = edit_distance(word, candidate);
    if (edits < fewest) {
      fewest = edits;
      best = candidate;
    }
  }
  if (!best.empty()) return best;
  const auto longer = std::find_if(known.begin(), known.end(), [&](const std::string& candidate) { return candidate.starts_with(word); });
  return longer == known.end() ? std::string() : *longer;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  const std::string suggestion = suggest(word, known);
  return suggestion.empty() ? std::string() : " (did you mean " + suggestion + "?)";
}

}  // namespace wick
