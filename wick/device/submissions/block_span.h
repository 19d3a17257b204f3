// A BlockSpan is what a command touches of one of a driver's blocks of memory.
#pragma once

#include <cstddef>

#include "wick/device/buffer.h"
#include "wick/device/submissions/hazards.h"

namespace wick {

// Block: the Buffer that the driver makes, which Buffer::place() leads to.
template <class Block>
struct BlockSpan {
  Block* block;
  size_t offset;  // in the block
  size_t bytes;

  [[nodiscard]] static BlockSpan of(const Buffer& buffer, size_t offset, size_t bytes) {
    const auto [place, first] = const_cast<Buffer&>(buffer).place();  // NOLINT: a command may write to what its caller only names
    return {static_cast<Block*>(place), first + offset, bytes};
  }
  [[nodiscard]] BlockSpan part(size_t from, size_t size) const noexcept { return {block, offset + from, size}; }
  [[nodiscard]] bool is_of_words() const noexcept { return offset % 4 == 0 && bytes % 4 == 0; }
  // How many of its first bytes lie before a whole word.
  [[nodiscard]] size_t head() const noexcept {
    const size_t before = (4 - offset % 4) % 4;
    return before < bytes ? before : bytes;
  }
  [[nodiscard]] Hazards::Range read() const noexcept { return {block, offset, offset + bytes, false}; }
  [[nodiscard]] Hazards::Range write() const noexcept { return {block, offset, offset + bytes, true}; }
};

}  // namespace wick
