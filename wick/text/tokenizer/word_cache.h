// A WordCache remembers, during one encode() call, where the ids of a short piece are in the result, so that repeated words are copied.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "wick/base/hash.h"
#include "wick/text/tokenizer/vocabulary.h"

namespace wick {

class WordCache {
 public:
  // A cache costs its clearing: texts shorter than this go without.
  static constexpr size_t kWorthwhileText = 2048;

  explicit WordCache(bool enabled) : slots_(enabled ? kSlots : 0) {}

  [[nodiscard]] uint64_t hash(std::string_view piece) const noexcept { return slots_.empty() ? 0 : keyed_hash(piece, key_); }

  // Appends the ids of `piece`, copied from earlier in `ids`. false if it is not known.
  [[nodiscard]] bool copy(std::string_view piece, uint64_t hash, std::vector<TokenId>& ids) const {
    if (slots_.empty() || piece.size() > kLongestWord) return false;
    const Slot& slot = slots_[hash % kSlots];
    if (slot.length != piece.size() || std::memcmp(slot.text.data(), piece.data(), piece.size()) != 0) return false;
    for (uint32_t index = 0; index < slot.count; ++index) ids.push_back(ids[slot.begin + index]);
    return true;
  }

  // Remembers that the ids of `piece` are those from `begin` to the end of `ids`.
  void remember(std::string_view piece, uint64_t hash, size_t begin, const std::vector<TokenId>& ids) {
    if (slots_.empty() || piece.size() > kLongestWord || piece.empty() || begin > UINT32_MAX) return;
    Slot& slot = slots_[hash % kSlots];
    std::memcpy(slot.text.data(), piece.data(), piece.size());
    slot.length = static_cast<uint8_t>(piece.size());
    slot.begin = static_cast<uint32_t>(begin);
    slot.count = static_cast<uint32_t>(ids.size() - begin);
  }

 private:
  static constexpr size_t kSlots = 8192;
  static constexpr size_t kLongestWord = 23;

  struct Slot {
    std::array<char, kLongestWord> text{};
    uint8_t length = 0;  // 0: empty
    uint32_t begin = 0;
    uint32_t count = 0;
  };

  HashKey key_ = process_hash_key();
  std::vector<Slot> slots_;
};

}  // namespace wick
