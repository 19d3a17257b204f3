#include "wick/text/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "wick/base/fail.h"

namespace wick {

uint64_t hash_bytes(std::string_view bytes) noexcept {
  // Eight bytes at a time through a multiply and a fold, as wyhash does; the tail is read as one word of fixed-size parts.
  constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15u;
  uint64_t hash = kMultiplier ^ bytes.size();
  const auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * kMultiplier;
    hash ^= hash >> 32;
  };
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, at, 8);
    mix(word);
  }
  if (left >= 4) {
    uint32_t first = 0;
    uint32_t last = 0;  // overlaps the first
    std::memcpy(&first, at, 4);
    std::memcpy(&last, at + left - 4, 4);
    mix(uint64_t{first} | uint64_t{last} << 32);
  } else if (left > 0) {
    const auto byte = [&](size_t index) { return uint64_t{static_cast<unsigned char>(at[index])}; };
    mix(byte(0) | byte(left / 2) << 8 | byte(left - 1) << 16);
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

std::vector<TokenId> Vocabulary::find_all(std::span<const std::string_view> texts) const {
  constexpr size_t kBatch = 64;
  std::vector<TokenId> ids(texts.size(), kNoToken);
  if (slots_.empty()) return ids;
  const size_t mask = slots_.size() - 1;
  std::array<uint64_t, kBatch> hashes{};
  for (size_t begin = 0; begin < texts.size(); begin += kBatch) {
    const size_t count = std::min(kBatch, texts.size() - begin);
    for (size_t index = 0; index < count; ++index) {
      hashes[index] = hash_bytes(texts[begin + index]);
      __builtin_prefetch(&slots_[hashes[index] & mask]);
    }
    const auto first_id = [&](size_t index) { return static_cast<size_t>(std::max(0, slots_[hashes[index] & mask].id)); };
    for (size_t index = 0; index < count; ++index) __builtin_prefetch(&begins_[first_id(index)]);
    for (size_t index = 0; index < count; ++index) __builtin_prefetch(texts_.data() + begins_[first_id(index)]);
    for (size_t index = 0; index < count; ++index) ids[begin + index] = find(texts[begin + index], hashes[index]);
  }
  return ids;
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
