// Slabs cut large pieces of memory into small blocks, for drivers that give few pieces, and slowly.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "wick/device/submissions/slots.h"

namespace wick {

// Piece: a driver allocation of any size.
template <class Piece>
class Slabs {
 public:
  struct Block {
    std::shared_ptr<Piece> piece;
    size_t offset = 0;                  // in it
    std::shared_ptr<const void> taken;  // the block's place is free again when this goes
  };

  // A block of so many bytes, large ones as a piece of their own; none where make(bytes), which gives a piece, gives nullptr.
  template <class Make>
  [[nodiscard]] std::optional<Block> take(size_t bytes, const Make& make) {
    if (bytes >= kSmall) {
      std::shared_ptr<Piece> whole = make(bytes);
      return whole == nullptr ? std::nullopt : std::optional<Block>({std::move(whole), 0, nullptr});
    }
    const size_t block_bytes = std::bit_ceil(bytes);
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Slab>>& slabs = slabs_[block_bytes];
    for (const std::shared_ptr<Slab>& slab : slabs) {
      if (const std::optional<uint32_t> slot = slab->slots.take()) return block_of(slab, *slot * block_bytes, *slot);
    }
    // The smallest blocks are the most, and no slab of theirs should be larger than all of them.
    const size_t blocks = std::min<size_t>(kSlabBytes / block_bytes, 256);
    std::shared_ptr<Piece> piece = make(blocks * block_bytes);
    if (piece == nullptr) return std::nullopt;
    slabs.push_back(std::make_shared<Slab>(std::move(piece), static_cast<uint32_t>(blocks)));
    const uint32_t first = slabs.back()->slots.take().value();
    return block_of(slabs.back(), first * block_bytes, first);
  }

 private:
  static constexpr size_t kSmall = size_t{1} << 20, kSlabBytes = size_t{4} << 20;

  struct Slab {
    Slab(std::shared_ptr<Piece> memory, uint32_t blocks) : piece(std::move(memory)), slots(blocks) {}
    std::shared_ptr<Piece> piece;
    Slots slots;
  };

  [[nodiscard]] static Block block_of(const std::shared_ptr<Slab>& slab, size_t offset, uint32_t slot) {
    return {slab->piece, offset, std::shared_ptr<const void>(nullptr, [slab, slot](const void*) { slab->slots.give_back(slot); })};
  }

  std::mutex mutex_;
  std::map<size_t, std::vector<std::shared_ptr<Slab>>> slabs_;  // by the size of their blocks
};

}  // namespace wick
