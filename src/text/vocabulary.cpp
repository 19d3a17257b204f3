#include "text/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"

namespace wick {

uint64_t hash_bytes(std::string_view bytes) noexcept {
  // Eight bytes at a time through a multiply and a fold, as wyhash does; the tail is read as one word.
  constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15u;
  uint64_t hash = kMultiplier ^ bytes.size();
  const auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * kMultiplier;
    hash ^= hash >> 32;
  };
  size_t index = 0;
  for (; index + 8 <= bytes.size(); index += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + index, 8);
    mix(word);
  }
  if (index < bytes.size()) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + index, bytes.size() - index);
    mix(word);
  }
  return hash * kMultiplier ^ (hash >> 29);
}

void Vocabulary::reserve(size_t tokens, size_t text_bytes) {
  texts_.reserve(text_bytes);
  begins_.reserve(tokens + 1);
  kinds_.reserve(tokens);
  scores_.reserve(tokens);
}

TokenId Vocabulary::add(std::string_view text, TokenKind kind, float score) {
  if (texts_.size() + text.size() > size_t{INT32_MAX} || kinds_.size() >= size_t{INT32_MAX} - 1) {
    fail(ErrorCode::unsupported, "vocabulary: the texts of its tokens pass 2 GiB (token {})", kinds_.size());
  }
  texts_ += text;
  begins_.push_back(static_cast<uint32_t>(texts_.size()));
  kinds_.push_back(kind);
  scores_.push_back(score);
  longest_text_ = std::max(longest_text_, text.size());
  return size() - 1;
}

void Vocabulary::build_index() {
  slots_.assign(std::bit_ceil(std::max<size_t>(16, 2 * kinds_.size())), Slot{});
  const size_t mask = slots_.size() - 1;
  for (TokenId id = 0; id < size(); ++id) {
    const std::string_view token = text(id);
    if (token.empty()) continue;
    const uint64_t hash = hash_bytes(token);
    const auto tag = static_cast<uint32_t>(hash >> 32);
    size_t slot = hash & mask;
    while (slots_[slot].id != kNoToken && !(slots_[slot].tag == tag && text(slots_[slot].id) == token)) slot = (slot + 1) & mask;
    if (slots_[slot].id == kNoToken) slots_[slot] = {tag, id};
  }
}

TokenId Vocabulary::find(std::string_view token, uint64_t hash) const noexcept {
  if (slots_.empty()) return kNoToken;
  const size_t mask = slots_.size() - 1;
  const auto tag = static_cast<uint32_t>(hash >> 32);
  for (size_t slot = hash & mask; slots_[slot].id != kNoToken; slot = (slot + 1) & mask) {
    if (slots_[slot].tag == tag && text(slots_[slot].id) == token) return slots_[slot].id;
  }
  return kNoToken;
}

int parse_byte_token(std::string_view text) noexcept {
  const auto digit = [](char letter) {
    if (letter >= '0' && letter <= '9') return letter - '0';
    if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
    if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
    return -1;
  };
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
  const int high = digit(text[3]);
  const int low = digit(text[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

std::string byte_token(uint8_t byte) { return fmt::format("<0x{:02X}>", byte); }

}  // namespace wick
