#include "wick/text/tokenizer/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "wick/base/fail.h"

namespace wick {

void Vocabulary::reserve(size_t tokens, size_t text_bytes) {
  texts_.reserve(text_bytes);
  begins_.reserve(tokens + 1);
  kinds_.reserve(tokens);
  scores_.reserve(tokens);
}

void Vocabulary::append_text(std::string_view text) {
  if (texts_.size() + text.size() > size_t{INT32_MAX} || begins_.size() >= size_t{INT32_MAX} - 1) {
    fail(ErrorCode::unsupported, "vocabulary: the texts of its tokens pass 2 GiB (token {})", kinds_.size());
  }
  texts_ += text;
  begins_.push_back(static_cast<uint32_t>(texts_.size()));
  longest_text_ = std::max(longest_text_, text.size());
}

TokenId Vocabulary::add(std::string_view text, TokenKind kind, double score, bool piece) {
  WICK_ASSERT(aliases_.empty());
  append_text(text);
  kinds_.push_back(kind);
  scores_.push_back(score);
  pieces_.push_back(piece);
  return size() - 1;
}

void Vocabulary::add_alias(std::string_view text, TokenId id) {
  append_text(text);
  aliases_.push_back(id);
}

void Vocabulary::build_index() {
  slots_.assign(std::bit_ceil(std::max<size_t>(16, 2 * begins_.size())), Slot{});
  const size_t mask = slots_.size() - 1;
  for (int32_t row = 0; row < static_cast<int32_t>(begins_.size()) - 1; ++row) {
    const std::string_view token = row_text(row);
    if (token.empty()) continue;
    const uint64_t hash = keyed_hash(token, key_);
    const auto tag = static_cast<uint32_t>(hash >> 32);
    size_t slot = hash & mask;
    while (slots_[slot].row >= 0 && !(slots_[slot].tag == tag && row_text(slots_[slot].row) == token)) slot = (slot + 1) & mask;
    if (slots_[slot].row < 0) slots_[slot] = {tag, row};
  }
}

TokenId Vocabulary::find(std::string_view token, uint64_t hash) const noexcept {
  if (slots_.empty()) return kNoToken;
  const size_t mask = slots_.size() - 1;
  const auto tag = static_cast<uint32_t>(hash >> 32);
  for (size_t slot = hash & mask; slots_[slot].row >= 0; slot = (slot + 1) & mask) {
    if (slots_[slot].tag == tag && row_text(slots_[slot].row) == token) return row_id(slots_[slot].row);
  }
  return kNoToken;
}

TokenId Vocabulary::find_piece(std::string_view text) const noexcept {
  const TokenId id = find(text);
  return id != kNoToken && is_piece(id) ? id : kNoToken;
}

std::vector<TokenId> Vocabulary::find_pieces(std::span<const std::string_view> texts) const {
  constexpr size_t kBatch = 64;
  std::vector<TokenId> ids(texts.size(), kNoToken);
  if (slots_.empty()) return ids;
  const size_t mask = slots_.size() - 1;
  std::array<uint64_t, kBatch> hashes{};
  for (size_t begin = 0; begin < texts.size(); begin += kBatch) {
    const size_t count = std::min(kBatch, texts.size() - begin);
    for (size_t index = 0; index < count; ++index) {
      hashes[index] = keyed_hash(texts[begin + index], key_);
      __builtin_prefetch(&slots_[hashes[index] & mask]);
    }
    const auto first_row = [&](size_t index) { return static_cast<size_t>(std::max(0, slots_[hashes[index] & mask].row)); };
    for (size_t index = 0; index < count; ++index) __builtin_prefetch(&begins_[first_row(index)]);
    for (size_t index = 0; index < count; ++index) __builtin_prefetch(texts_.data() + begins_[first_row(index)]);
    for (size_t index = 0; index < count; ++index) {
      const TokenId id = find(texts[begin + index], hashes[index]);
      if (id != kNoToken && is_piece(id)) ids[begin + index] = id;
    }
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
