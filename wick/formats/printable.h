// Text from an untrusted file, made fit to stand in a message of one line.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace wick {

// The text in single quotes. Control bytes and bytes beyond ASCII that are not UTF-8 print as \xNN, and a text beyond 80 bytes is
// cut and ends in "…".
[[nodiscard]] std::string printable(std::string_view text);
// The same, without quotes where the text is fit to stand as it is.
[[nodiscard]] std::string printable_name(std::string_view text);
// Text of any length for a terminal: bytes that it would obey, characters that turn the direction of writing and bytes that are not
// UTF-8 become \xNN. Newlines stay.
[[nodiscard]] std::string without_controls(std::string_view text);
// A model's answer for a terminal: only control characters become \xNN. Newlines, tabs and marks of direction stay.
[[nodiscard]] std::string answer_without_controls(std::string_view answer);
// JSON for a terminal: what it would obey becomes \uNNNN, which means the same. nlohmann's dump escapes control bytes alone.
[[nodiscard]] std::string json_without_controls(std::string_view json);
// The same as printable() for the first bytes of a file.
[[nodiscard]] std::string printable(std::span<const std::byte> bytes);

}  // namespace wick
