// The known word nearest to one that is unknown: "did you mean".
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace wick {

// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other (Damerau 1964, restricted).
[[nodiscard]] size_t edit_distance(std::string_view left, std::string_view right);

// The closest of the words if few edits apart, else the first one that begins with `word`; empty if there is none.
[[nodiscard]] std::string suggest(std::string_view word, std::span<const std::string> known);

// " (did you mean --model?)", or nothing.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string> known);

}  // namespace wick
