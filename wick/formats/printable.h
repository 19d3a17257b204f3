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
// The same for the first bytes of a file.
[[nodiscard]] std::string printable(std::span<const std::byte> bytes);

}  // namespace wick
