#include "wick/base/utf8.h"

#include <algorithm>
#include <cstring>

namespace wick {

DecodedCharacter decode_character(std::string_view text, size_t offset) noexcept {
  const auto byte = [&](size_t index) { return static_cast<unsigned char>(text[offset + index]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const uint32_t length = sequence_length(first);
  if (length == 1) return {kReplacementCharacter, 1, false};
  // The second byte's range excludes overlong forms, surrogates and codes beyond U+10FFFF (Unicode 15, table 3-7).
  const unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  char32_t code = first & (0xFFu >> (length + 1));
  for (uint32_t index = 1; index < length; ++index) {
    if (offset + index >= text.size()) return {kReplacementCharacter, index, false};
    const unsigned char next = byte(index);
    const bool fits = index == 1 ? next >= low && next <= high : next >= 0x80 && next <= 0xBF;
    if (!fits) return {kReplacementCharacter, index, false};
    code = (code << 6) | (next & 0x3Fu);
  }
  return {code, length, true};
}

size_t count_characters(std::string_view text) noexcept {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char byte) { return !is_continuation(byte); }));
}

bool is_ascii(std::string_view text) noexcept {
  size_t index = 0;
  for (; index + 8 <= text.size(); index += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + index, 8);
    if ((word & 0x8080808080808080u) != 0) return false;
  }
  for (; index < text.size(); ++index) {
    if (static_cast<unsigned char>(text[index]) >= 0x80) return false;
  }
  return true;
}

bool is_valid_utf8(std::string_view text) noexcept {
  if (is_ascii(text)) return true;
  for (size_t offset = 0; offset < text.size();) {
    const DecodedCharacter character = decode_character(text, offset);
    if (!character.valid) return false;
    offset += character.length;
  }
  return true;
}

size_t incomplete_suffix(std::string_view text) noexcept {
  const size_t limit = std::min<size_t>(3, text.size());
  for (size_t back = 1; back <= limit; ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte < 0x80) return 0;
    if (byte < 0xC0) continue;
    const DecodedCharacter character = decode_character(text, text.size() - back);
    return !character.valid && character.length == back && sequence_length(byte) > back ? back : 0;
  }
  return 0;
}

size_t previous_character(std::string_view text, size_t offset) noexcept {
  size_t begin = offset - 1;
  while (begin > 0 && offset - begin < 4 && is_continuation(text[begin])) --begin;
  return begin;
}

}  // namespace wick
