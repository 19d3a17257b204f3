// The byte alphabet of GPT-2: each byte is written as a printable character in the texts of a vocabulary ("Ġ" is the space).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wick {

// The character for `byte`, in UTF-8: 1 or 2 bytes.
[[nodiscard]] std::string_view byte_to_letter(uint8_t byte) noexcept;
// Appends the letters of every byte of `text`.
void append_letters(std::string& result, std::string_view text);
// The bytes of `letters`; none if a character of it is not in the alphabet.
[[nodiscard]] std::optional<std::string> letters_to_bytes(std::string_view letters);

}  // namespace wick
