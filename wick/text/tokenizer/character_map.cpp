#include "wick/text/tokenizer/character_map.h"

#include <algorithm>
#include <cstring>

#include "wick/base/fail.h"

namespace wick {
namespace {

uint32_t read_u32(std::string_view bytes, size_t offset) noexcept {
  uint32_t value = 0;
  for (size_t index = 4; index-- > 0;) value = (value << 8) | static_cast<unsigned char>(bytes[offset + index]);
  return value;
}

// A unit of the double array: bits 0–7 the label (with bit 31, which marks a value), bit 8 says that a value follows, bits 10–30 the
// offset to the children, in steps of 256 if bit 9 is set.
constexpr uint32_t label_of(uint32_t unit) noexcept { return unit & (0x80000000u | 0xFFu); }
constexpr bool has_value(uint32_t unit) noexcept { return ((unit >> 8) & 1u) != 0; }
constexpr uint32_t offset_of(uint32_t unit) noexcept { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }
constexpr uint32_t value_of(uint32_t unit) noexcept { return unit & 0x7FFFFFFFu; }

}  // namespace

CharacterMap::CharacterMap(std::string_view blob, std::string_view place) {
  if (blob.size() < 4) fail(ErrorCode::corrupt_file, "{}: a character map of {} bytes; its size field alone takes 4", place, blob.size());
  const uint32_t trie_bytes = read_u32(blob, 0);
  if (trie_bytes % 4 != 0 || trie_bytes == 0 || trie_bytes > blob.size() - 4) {
    fail(ErrorCode::corrupt_file, "{}: its character map says {} bytes of table (a multiple of 4, at most {})", place, trie_bytes,
         blob.size() - 4);
  }
  units_.reserve(trie_bytes / 4);
  for (size_t offset = 4; offset < 4 + size_t{trie_bytes}; offset += 4) units_.push_back(read_u32(blob, offset));
  replacements_ = blob.substr(4 + size_t{trie_bytes});
  replacements_.push_back('\0');
}

std::optional<CharacterMap::Match> CharacterMap::find(std::string_view text, bool first_only) const noexcept {
  if (units_.empty()) return std::nullopt;
  std::optional<Match> best;
  uint32_t node = offset_of(units_[0]);
  for (size_t index = 0; index < std::min(text.size(), kLongest); ++index) {
    const auto byte = static_cast<unsigned char>(text[index]);
    if (byte == 0) break;
    node ^= byte;
    if (node >= units_.size()) break;
    const uint32_t unit = units_[node];
    if (label_of(unit) != byte) break;
    node ^= offset_of(unit);
    if (!has_value(unit) || node >= units_.size()) continue;
    const uint32_t begin = value_of(units_[node]);
    if (begin >= replacements_.size()) continue;
    best = Match{index + 1, std::string_view(replacements_.c_str() + begin, strnlen(replacements_.c_str() + begin, kLongestReplacement))};
    if (first_only) break;
  }
  return best;
}

bool CharacterMap::may_continue(std::string_view text) const noexcept {
  if (units_.empty() || text.size() >= kLongest) return false;
  uint32_t node = offset_of(units_[0]);
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    node ^= byte;
    if (byte == 0 || node >= units_.size() || label_of(units_[node]) != byte) return false;
    node ^= offset_of(units_[node]);
  }
  for (uint32_t byte = 1; byte < 256; ++byte) {
    if ((node ^ byte) < units_.size() && label_of(units_[node ^ byte]) == byte) return true;
  }
  return false;
}

std::optional<CharacterMap::Match> CharacterMap::longest(std::string_view text) const noexcept { return find(text, false); }
std::optional<CharacterMap::Match> CharacterMap::shortest(std::string_view text) const noexcept { return find(text, true); }

}  // namespace wick
