// Translates a pattern of Oniguruma, the syntax of tokenizer files, into PCRE2's syntax with the same meaning.
#pragma once

#include <string>
#include <string_view>

namespace wick {

// Numbers of the callouts for \y and \Y: is the position a boundary between grapheme clusters, or not?
inline constexpr uint32_t kClusterBoundaryCallout = 1;
inline constexpr uint32_t kNoClusterBoundaryCallout = 2;

// `place` names the origin of the pattern in errors. Errors: corrupt_file (no pattern of Oniguruma's), unsupported (a construct that
// this build does not translate).
[[nodiscard]] std::string translate_oniguruma(std::string_view pattern, std::string_view place);

}  // namespace wick
