// Matrices [out, in] as compressed-tensors stores whole numbers of 4 or 8 bits, row by row:
//   weight_packed      i32 [out, in · bits / 32]     code (o, i) is in word [o][i · bits / 32], from bit i · bits mod 32 on
//   ("pack-quantized"), or weight          i8 [out, in]                  a signed number each ("int-quantized", "naive-quantized")
//   weight_scale       f16, bf16 or f32 [out, groups]
//   weight_zero_point  i32 [out · bits / 32, groups] packed along the rows, or i8 [out, groups]; none: 0 of signed numbers
//   weight_g_idx       i32 [in]                      the group of each column
// Packed codes and zeros are of signed numbers, 2^(bits-1) being added.
#pragma once

#include "wick/quant/grouped_codes.h"

namespace wick::quant {

struct PackedRowsLayout {
  int64_t rows = 0, columns = 0;
  int bits = 4;
  int64_t group_size = 128, group_count = 1;
  int64_t scale_rows = 0;  // 1: one scale for all rows
  DType scale_dtype = DType::f16;
  bool packed = true, packed_zeros = true;
  std::span<const std::byte> codes = {}, scales = {}, zeros = {}, group_index = {};

  [[nodiscard]] int64_t groups() const { return group_count; }
  [[nodiscard]] int64_t group(int64_t column) const {
    return group_index.empty() ? column / group_size : number_at<int32_t>(group_index, column);
  }
  [[nodiscard]] int code(int64_t row, int64_t column) const {
    if (!packed) return number_at<int8_t>(codes, row * columns + column) + half();
    const int64_t bit = column * bits;
    return static_cast<int>(number_at<uint32_t>(codes, row * (columns * bits / 32) + bit / 32) >> (bit % 32) & ((1U << bits) - 1));
  }
  [[nodiscard]] int zero(int64_t row, int64_t group) const {
    if (zeros.empty()) return half();
    if (!packed_zeros) return number_at<int8_t>(zeros, row * group_count + group) + half();
    const int64_t bit = row * bits;
    return static_cast<int>(number_at<uint32_t>(zeros, bit / 32 * group_count + group) >> (bit % 32) & ((1U << bits) - 1));
  }
  [[nodiscard]] float scale(int64_t row, int64_t group) const {
    return float_at(scales, scale_dtype, (scale_rows == 1 ? 0 : row) * group_count + group);
  }
  [[nodiscard]] int half() const { return 1 << (bits - 1); }
};

}  // namespace wick::quant
