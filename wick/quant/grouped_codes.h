// Matrices of whole numbers with a scale and a zero for each group of columns, which quantized checkpoints hold in several layouts:
// value = scale · (code - zero). They become blocks that hold exactly the same values, or f16 where no format does.
//
// A layout is a type with
//   int64_t rows, columns;                             // of the matrix [out, in]
//   int bits;                                          // of a code
//   int64_t groups() const;                            // of columns
//   int64_t group(int64_t column) const;
//   int code(int64_t row, int64_t column) const;       // 0 to 2^bits - 1
//   int zero(int64_t row, int64_t group) const;
//   float scale(int64_t row, int64_t group) const;
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "wick/base/half.h"
#include "wick/layout/dtype.h"
#include "wick/quant/blocks.h"

namespace wick::quant {

inline constexpr int64_t kCodesOfBlock = 32;

// Whether blocks of 32 columns have one group each, and every scale is an f16.
template <class Layout>
[[nodiscard]] bool groups_are_blocks(const Layout& layout) {
  if (layout.columns % kCodesOfBlock != 0) return false;
  for (int64_t column = 0; column < layout.columns; ++column) {
    if (layout.group(column) != layout.group(column - column % kCodesOfBlock)) return false;
  }
  for (int64_t group = 0; group < layout.groups(); ++group) {
    for (int64_t row = 0; row < layout.rows; ++row) {
      const float scale = layout.scale(row, group);
      if (!(static_cast<float>(f16(scale)) == scale)) return false;
    }
  }
  return true;
}

// The narrowest format that holds the same values: Q4_0, Q5_0, Q8_0, or F16, whose values are rounded once.
template <class Layout>
[[nodiscard]] DType fitting_dtype(const Layout& layout) {
  if (!groups_are_blocks(layout)) return DType::f16;
  int least = 0, most = 0;  // of the zeros
  for (int64_t group = 0; group < layout.groups(); ++group) {
    for (int64_t row = 0; row < layout.rows; ++row) {
      const int zero = layout.zero(row, group);
      least = group == 0 && row == 0 ? zero : std::min(least, zero);
      most = group == 0 && row == 0 ? zero : std::max(most, zero);
    }
  }
  const int low = -most, high = (1 << layout.bits) - 1 - least;
  if (low >= -8 && high <= 7) return DType::q4_0;
  if (low >= -16 && high <= 15) return DType::q5_0;
  if (low >= -128 && high <= 127) return DType::q8_0;
  return DType::f16;
}

inline void put_block(BlockQ4_0& block, uint16_t scale, const int* values) {
  block.d = scale;
  for (int j = 0; j < 16; ++j) block.codes[j] = static_cast<uint8_t>((values[j] + 8) | ((values[j + 16] + 8) << 4));
}

inline void put_block(BlockQ5_0& block, uint16_t scale, const int* values) {
  block.d = scale;
  uint32_t high = 0;
  for (int j = 0; j < 32; ++j) high |= static_cast<uint32_t>((values[j] + 16) >> 4) << j;
  for (int j = 0; j < 4; ++j) block.high_bits[j] = static_cast<uint8_t>(high >> (8 * j));
  for (int j = 0; j < 16; ++j) block.codes[j] = static_cast<uint8_t>(((values[j] + 16) & 15) | (((values[j + 16] + 16) & 15) << 4));
}

inline void put_block(BlockQ8_0& block, uint16_t scale, const int* values) {
  block.d = scale;
  for (int j = 0; j < 32; ++j) block.codes[j] = static_cast<int8_t>(values[j]);
}

template <class Block, class Layout>
void write_blocks(const Layout& layout, std::span<std::byte> to) {
  const int64_t blocks = layout.columns / kCodesOfBlock;
  // Files hold the codes of adjacent rows next to each other.
  for (int64_t index = 0; index < blocks; ++index) {
    const int64_t first = index * kCodesOfBlock, group = layout.group(first);
    for (int64_t row = 0; row < layout.rows; ++row) {
      int values[kCodesOfBlock];
      const int zero = layout.zero(row, group);
      for (int64_t j = 0; j < kCodesOfBlock; ++j) values[j] = layout.code(row, first + j) - zero;
      Block block;
      put_block(block, f16(layout.scale(row, group)).bits, values);
      std::memcpy(to.data() + static_cast<size_t>(row * blocks + index) * sizeof(Block), &block, sizeof(Block));
    }
  }
}

// The matrix in a format that fitting_dtype() gave, in a wider one of these, or in f32.
template <class Layout>
void write_grouped(const Layout& layout, DType dtype, std::span<std::byte> to) {
  if (dtype == DType::q4_0) return write_blocks<BlockQ4_0>(layout, to);
  if (dtype == DType::q5_0) return write_blocks<BlockQ5_0>(layout, to);
  if (dtype == DType::q8_0) return write_blocks<BlockQ8_0>(layout, to);
  for (int64_t column = 0; column < layout.columns; ++column) {
    const int64_t group = layout.group(column);
    for (int64_t row = 0; row < layout.rows; ++row) {
      const float exact = layout.scale(row, group) * static_cast<float>(layout.code(row, column) - layout.zero(row, group));
      const f16 rounded(exact);
      const auto at = static_cast<size_t>(row * layout.columns + column);
      if (dtype == DType::f16) std::memcpy(to.data() + at * sizeof(uint16_t), &rounded.bits, sizeof(uint16_t));
      if (dtype == DType::f32) std::memcpy(to.data() + at * sizeof(float), &exact, sizeof(float));
    }
  }
}

// One number of a plain tensor in a file, at any alignment.
template <class T>
[[nodiscard]] T number_at(std::span<const std::byte> data, int64_t index) {
  T value;
  std::memcpy(&value, data.data() + static_cast<size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

// A float of f32, f16 or bf16.
[[nodiscard]] inline float float_at(std::span<const std::byte> data, DType dtype, int64_t index) {
  if (dtype == DType::f32) return number_at<float>(data, index);
  const auto bits = number_at<uint16_t>(data, index);
  return dtype == DType::f16 ? f16_bits_to_float(bits) : bf16_bits_to_float(bits);
}

}  // namespace wick::quant
