// Text for a terminal or a message: what a terminal would obey is escaped.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace wick {

// Appends what may be shown of the character that `text`, which is not empty, begins with: newline, carriage return and tab become \n, \r
// and \t; other bytes that a terminal would obey, characters that turn the direction of writing and bytes that are not UTF-8 \xNN. Returns
// the character's length in bytes.
size_t append_shown(std::string_view text, std::string& shown);

// The whole text, in which newlines stay.
[[nodiscard]] std::string without_controls(std::string_view text);
// The whole text on one line.
[[nodiscard]] std::string on_one_line(std::string_view text);
// A model's answer: only control characters become \xNN. Newlines, tabs and marks of direction stay.
[[nodiscard]] std::string answer_without_controls(std::string_view answer);
// JSON: what a terminal would obey becomes \uNNNN, which means the same. nlohmann's dump escapes control bytes alone.
[[nodiscard]] std::string json_without_controls(std::string_view json);

}  // namespace wick
