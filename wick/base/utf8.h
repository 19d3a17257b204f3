// UTF-8: strict decoding of text that may be anything, and encoding.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace wick {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;

// One step of decoding. Invalid bytes give U+FFFD; `length` is then the maximal subpart (Unicode 15, section 3.9), at least 1.
struct DecodedCharacter {
  char32_t code = 0;
  uint32_t length = 1;
  bool valid = true;
};

// Decodes the character at `offset`, which must be inside `text`. Overlong forms and surrogates are invalid.
[[nodiscard]] DecodedCharacter decode_character(std::string_view text, size_t offset) noexcept;

struct EncodedCharacter {
  std::array<char, 4> bytes{};
  uint8_t length = 0;

  [[nodiscard]] constexpr std::string_view text() const noexcept { return {bytes.data(), length}; }
};

// `code` is at most 0x10FFFF.
[[nodiscard]] constexpr EncodedCharacter encode_character(char32_t code) noexcept {
  EncodedCharacter result;
  const auto push = [&](char32_t byte) { result.bytes[result.length++] = static_cast<char>(byte); };
  const auto push_rest = [&](unsigned shift) { push(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) {
    push(code);
  } else if (code < 0x800) {
    push(0xC0 | (code >> 6));
    push_rest(0);
  } else if (code < 0x10000) {
    push(0xE0 | (code >> 12));
    push_rest(6);
    push_rest(0);
  } else {
    push(0xF0 | (code >> 18));
    push_rest(12);
    push_rest(6);
    push_rest(0);
  }
  return result;
}
inline void append_character(std::string& text, char32_t code) { text += encode_character(code).text(); }

// The length that a character with this first byte has; 1 for a byte that begins none.
[[nodiscard]] constexpr uint32_t sequence_length(unsigned char first) noexcept {
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (first >= 0xE0 && first <= 0xEF) return 3;
  if (first >= 0xF0 && first <= 0xF4) return 4;
  return 1;
}
// Whether the byte, 10xxxxxx, goes on with a character.
[[nodiscard]] constexpr bool is_continuation(char byte) noexcept { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// Characters of valid UTF-8: each byte counts that does not go on with one.
[[nodiscard]] size_t count_characters(std::string_view text) noexcept;
[[nodiscard]] bool is_ascii(std::string_view text) noexcept;
[[nodiscard]] bool is_valid_utf8(std::string_view text) noexcept;
// Bytes at the end of `text` that begin a character which more bytes may complete: 0 to 3.
[[nodiscard]] size_t incomplete_suffix(std::string_view text) noexcept;
// The beginning of the character that ends before `offset`, which is at least 1.
[[nodiscard]] size_t previous_character(std::string_view text, size_t offset) noexcept;

}  // namespace wick
