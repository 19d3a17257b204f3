// Texts, token lists and whole files that come in by flags or by standard input.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "wick/cli/console.h"
#include "wick/text/tokenizer/vocabulary.h"

namespace wick {

// All bytes of a file. Errors: not_found, io.
[[nodiscard]] std::string read_text_file(const std::filesystem::path& path);
// All bytes of standard input. Errors: invalid_argument if it is a terminal, since nobody was asked; `remedy` says what to give instead.
[[nodiscard]] std::string read_standard_input(const Console& console, std::string_view remedy);

// Token ids of "0,5,9", "0 5 9" or the JSON array "[0, 5, 9]". Errors: invalid_argument, naming `source` and the place.
[[nodiscard]] std::vector<TokenId> parse_tokens(std::string_view text, std::string_view source);

}  // namespace wick
