// Matrices of unsigned codes with a scale and an offset for each group, value = scale · code + offset, as MLX and HQQ store them. They
// become Q4_1 or Q5_1, which hold exactly the same values where scales and offsets are f16 numbers, or f16.
//
// A layout is a type with
//   int64_t rows, columns;                              // of the matrix [out, in]
//   int bits;                                           // of a code
//   int64_t groups() const;
//   int64_t group(int64_t row, int64_t column) const;
//   bool blocks_have_one_group() const;                 // of 32 columns
//   int code(int64_t row, int64_t column) const;
//   float scale(int64_t group) const;
//   float offset(int64_t group) const;
//   float value(int64_t row, int64_t column) const;     // rounded as the layout's program does
#pragma once

#include <algorithm>

#include "wick/quant/grouped_codes.h"
#include "wick/quant/plain_values.h"

namespace wick::quant {

[[nodiscard]] inline bool is_f16_number(float value) { return static_cast<float>(f16(value)) == value; }

// Whether a block with f16 numbers has the values of these 32 columns: a scale counts for nothing where all codes are 0.
template <class Layout>
[[nodiscard]] bool block_is_exact(const Layout& layout, int64_t row, int64_t first) {
  const int64_t group = layout.group(row, first);
  if (!is_f16_number(layout.offset(group))) return false;
  if (is_f16_number(layout.scale(group))) return true;
  for (int64_t column = first; column < first + kCodesOfBlock; ++column) {
    if (layout.code(row, column) != 0) return false;
  }
  return true;
}

template <class Layout>
[[nodiscard]] DType affine_dtype(const Layout& layout) {
  constexpr int kMaxBits = 5;
  bool exact = layout.bits <= kMaxBits && layout.columns % kCodesOfBlock == 0 && layout.blocks_have_one_group();
  for (int64_t row = 0; exact && row < layout.rows; ++row) {
    for (int64_t first = 0; exact && first < layout.columns; first += kCodesOfBlock) exact = block_is_exact(layout, row, first);
  }
  if (exact) return layout.bits <= 4 ? DType::q4_1 : DType::q5_1;
  float largest = 0;
  const auto most = static_cast<float>((1 << layout.bits) - 1);
  for (int64_t group = 0; group < layout.groups(); ++group) {
    const float bound = std::fabs(layout.scale(group)) * most + std::fabs(layout.offset(group));
    if (!(bound <= largest)) largest = bound;
    if (std::isnan(bound)) break;
  }
  return plain_dtype(largest);
}

inline void put_codes(BlockQ4_1& block, const int* codes) {
  for (int j = 0; j < 16; ++j) block.codes[j] = static_cast<uint8_t>(codes[j] | codes[j + 16] << 4);
}

inline void put_codes(BlockQ5_1& block, const int* codes) {
  uint32_t high = 0;
  for (int j = 0; j < 32; ++j) high |= static_cast<uint32_t>(codes[j] >> 4) << j;
  for (int j = 0; j < 4; ++j) block.high_bits[j] = static_cast<uint8_t>(high >> (8 * j));
  for (int j = 0; j < 16; ++j) block.codes[j] = static_cast<uint8_t>((codes[j] & 15) | (codes[j + 16] & 15) << 4);
}

template <class Block, class Layout>
void write_affine_blocks(const Layout& layout, std::span<std::byte> to) {
  std::byte* next = to.data();
  for (int64_t row = 0; row < layout.rows; ++row) {
    for (int64_t first = 0; first < layout.columns; first += kCodesOfBlock, next += sizeof(Block)) {
      const int64_t group = layout.group(row, first);
      int codes[kCodesOfBlock];
      for (int64_t j = 0; j < kCodesOfBlock; ++j) codes[j] = layout.code(row, first + j);
      Block block;
      const float scale = layout.scale(group);
      block.d = is_f16_number(scale) ? f16(scale).bits : uint16_t{0};
      block.m = f16(layout.offset(group)).bits;
      put_codes(block, codes);
      std::memcpy(next, &block, sizeof(block));
    }
  }
}

// The matrix in affine_dtype()'s format, or in f16 or f32.
template <class Layout>
void write_affine(const Layout& layout, DType dtype, std::span<std::byte> to) {
  if (dtype == DType::q4_1) return write_affine_blocks<BlockQ4_1>(layout, to);
  if (dtype == DType::q5_1) return write_affine_blocks<BlockQ5_1>(layout, to);
  write_values(layout, dtype, to);
}

}  // namespace wick::quant
