// Texts as Python writes them and its string functions cut them: str(), repr(), floats, code points, case, white space.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/utf8.h"
#include "wick/text/jinja/value.h"

namespace wick::jinja {

[[nodiscard]] std::string float_text(double number);         // repr(float): the shortest digits that read back as the number
[[nodiscard]] std::string text_repr(std::string_view text);  // repr(str)
[[nodiscard]] std::string repr(const Value& value);
[[nodiscard]] std::string to_text(const Value& value);  // str(value)
// A reference where the value is a string already, else `storage`.
[[nodiscard]] const std::string& to_text(const Value& value, std::string& storage);

// --- Code points. Texts are valid UTF-8. ---

[[nodiscard]] int64_t length_of(std::string_view text);
// The byte at which code point `index` begins; the text's size for the one after the last.
[[nodiscard]] size_t byte_at(std::string_view text, int64_t index);
[[nodiscard]] std::u32string decode(std::string_view text);

[[nodiscard]] bool is_space(char32_t code);      // str.isspace
[[nodiscard]] bool is_printable(char32_t code);  // not escaped by repr
[[nodiscard]] std::string_view strip_left(std::string_view text);
[[nodiscard]] std::string_view strip_right(std::string_view text);
// The characters of `set` instead of white space.
[[nodiscard]] std::string_view strip_left(std::string_view text, std::string_view set);
[[nodiscard]] std::string_view strip_right(std::string_view text, std::string_view set);

enum class LetterCase { upper, lower, title, fold };
[[nodiscard]] std::string in_case(std::string_view text, LetterCase letter_case);
[[nodiscard]] std::string capitalized(std::string_view text);
[[nodiscard]] std::string titled(std::string_view text);  // str.title
[[nodiscard]] std::string case_swapped(std::string_view text);
// The sixteen questions that str.is…() ask: "alnum", "alpha", "ascii", "decimal", "digit", "identifier", "lower" …
[[nodiscard]] bool is_of_class(std::string_view text, std::string_view name);

[[nodiscard]] std::vector<std::string_view> split_at_space(std::string_view text, int64_t most);
[[nodiscard]] std::vector<std::string_view> split_at(std::string_view text, std::string_view separator, int64_t most);
[[nodiscard]] std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends);
[[nodiscard]] std::string replace_all(Budget& budget, std::string_view text, std::string_view from, std::string_view to, int64_t most);
[[nodiscard]] std::string escape_html(std::string_view text);

}  // namespace wick::jinja
