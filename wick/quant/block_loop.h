// Loops over the blocks of a row, for the pack and unpack functions of the formats.
#pragma once

#include <cstddef>
#include <span>

#include "wick/base/fail.h"
#include "wick/quant/blocks.h"

namespace wick::quant {

// read(block, out) for each block, out being its kElements values.
template <class Block, class Read>
void unpack_blocks(const std::byte* blocks, std::span<float> values, const Read& read) {
  WICK_ASSERT(values.size() % Block::kElements == 0);
  for (size_t index = 0; index * Block::kElements < values.size(); ++index) {
    read(load_block<Block>(blocks, index), values.data() + index * Block::kElements);
  }
}

// make(in) is the block of kElements values.
template <class Block, class Make>
void pack_blocks(std::span<const float> values, std::byte* blocks, const Make& make) {
  WICK_ASSERT(values.size() % Block::kElements == 0);
  for (size_t index = 0; index * Block::kElements < values.size(); ++index) {
    store_block(Block(make(values.data() + index * Block::kElements)), blocks, index);
  }
}

// make(in, weights) is the block of kElements values whose importance the weights tell.
template <class Block, class Make>
void pack_weighted_blocks(std::span<const float> row, std::span<const float> importance, std::byte* blocks, const Make& make) {
  WICK_ASSERT(row.size() % Block::kElements == 0 && importance.size() == row.size());
  for (size_t index = 0; index * Block::kElements < row.size(); ++index) {
    const size_t begin = index * Block::kElements;
    store_block(Block(make(row.data() + begin, importance.data() + begin)), blocks, index);
  }
}

}  // namespace wick::quant
