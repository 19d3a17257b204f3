// Text from an untrusted file, made fit to stand in a message of one line.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace wick {

// The text in single quotes. Escaped as by on_one_line() ("wick/base/terminal_text.h"); a text beyond 80 bytes is cut and ends in "…".
[[nodiscard]] std::string printable(std::string_view text);
// The same, without quotes where the text is fit to stand as it is.
[[nodiscard]] std::string printable_name(std::string_view text);
// The same as printable() for the first bytes of a file.
[[nodiscard]] std::string printable(std::span<const std::byte> bytes);

}  // namespace wick
