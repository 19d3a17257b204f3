// The pack and unpack functions that the table of block formats names; see block_format.h for what they do.
#pragma once

#include <cstddef>
#include <span>

#include "wick/quant/block_format.h"

namespace wick::quant {

// Those that a row of the table says a format has not are declared, too, and defined nowhere.
#define WICK_FORMAT_FUNCTIONS(name, ...)                                \
  void unpack_##name(const std::byte* blocks, std::span<float> values); \
  void pack_##name(std::span<const float> values, std::byte* blocks);   \
  void pack_weighted_##name(std::span<const float> row, std::span<const float> importance, std::byte* blocks);
WICK_BLOCK_FORMATS(WICK_FORMAT_FUNCTIONS)
#undef WICK_FORMAT_FUNCTIONS

}  // namespace wick::quant
