// Characters of text: what class a character is of, normal forms, grapheme clusters and lower case. Unicode data: utf8proc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/utf8.h"

namespace wick {

// The bytes that rewriting a text of `size` bytes may make of it; a tokenizer that makes more was made to exhaust memory.
[[nodiscard]] constexpr size_t largest_rewriting(size_t size) noexcept { return 64 * size + 65536; }

// Replacement of an invalid sequence: one U+FFFD for each maximal subpart (as Rust and Python decode), or for each byte (as
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
// The code points of a text, each as its bytes; of invalid UTF-8, each maximal subpart.
[[nodiscard]] std::vector<std::string_view> code_points(std::string_view text);
// Bytes of the first grapheme cluster at `offset`. `text` must be valid UTF-8.
[[nodiscard]] size_t grapheme_length(std::string_view text, size_t offset) noexcept;

// Tells where grapheme clusters of one text meet. Questions from left to right take time in proportion to the text.
class GraphemeBoundaries {
 public:
  // Whether clusters of `text` meet at `offset`, the beginning of a character or the end. `text` must be valid UTF-8, and the same each
  // time.
  [[nodiscard]] bool at(std::string_view text, size_t offset) noexcept;

 private:
  // The cluster that was looked at last.
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace wick
