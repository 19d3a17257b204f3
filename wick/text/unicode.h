// Characters of UTF-8 text: strict decoding, what class a character is of, normal forms and lower case. Unicode data: utf8proc.
#pragma once

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
void append_character(std::string& text, char32_t code);

// The length that a character with this first byte has; 1 for a byte that begins none.
[[nodiscard]] uint32_t sequence_length(unsigned char first) noexcept;
[[nodiscard]] bool is_ascii(std::string_view text) noexcept;
[[nodiscard]] bool is_valid_utf8(std::string_view text) noexcept;
// Bytes at the end of `text` that begin a character which more bytes may complete: 0 to 3.
[[nodiscard]] size_t incomplete_suffix(std::string_view text) noexcept;

// The bytes that rewriting a text of `size` bytes may make of it; a tokenizer that makes more was made to exhaust memory.
[[nodiscard]] constexpr size_t largest_rewriting(size_t size) noexcept { return 64 * size + 65536; }

// What an invalid sequence becomes: one U+FFFD for each maximal subpart (as Rust and Python decode), or for each byte (as
// SentencePiece does).
enum class InvalidBytes { one_per_subpart, one_per_byte };
[[nodiscard]] std::string replace_invalid(std::string_view text, InvalidBytes policy);

[[nodiscard]] bool is_whitespace(char32_t code) noexcept;     // White_Space
[[nodiscard]] bool is_number(char32_t code) noexcept;         // N
[[nodiscard]] bool is_decimal_digit(char32_t code) noexcept;  // Nd
[[nodiscard]] bool is_punctuation(char32_t code) noexcept;  // P, and every ASCII character that is neither letter, digit, space nor control
[[nodiscard]] bool is_mark(char32_t code) noexcept;         // M
[[nodiscard]] bool is_nonspacing_mark(char32_t code) noexcept;  // Mn
[[nodiscard]] bool is_control(char32_t code) noexcept;          // Cc, Cf, Co: control, format, private use
[[nodiscard]] bool is_word(char32_t code) noexcept;             // letters, marks, digits, connector punctuation
[[nodiscard]] bool is_cjk_ideograph(char32_t code) noexcept;    // the blocks that BERT splits into single characters

enum class NormalForm { nfc, nfd, nfkc, nfkd };
// `text` must be valid UTF-8.
[[nodiscard]] std::string normalize(std::string_view text, NormalForm form);
// Character by character, without context: a final sigma is a sigma. `text` must be valid UTF-8.
[[nodiscard]] std::string lowercase(std::string_view text);
// Bytes of the first grapheme cluster at `offset`. `text` must be valid UTF-8.
[[nodiscard]] size_t grapheme_length(std::string_view text, size_t offset) noexcept;

// Whether grapheme clusters of `text` meet at `offset`, the beginning of a character or the end. `text` must be valid UTF-8.
[[nodiscard]] bool is_grapheme_boundary(std::string_view text, size_t offset) noexcept;
// The beginning of the character that ends before `offset`, which is at least 1.
[[nodiscard]] size_t previous_character(std::string_view text, size_t offset) noexcept;

}  // namespace wick
