// Matrices [out, in] as MLX stores them (mlx.core.quantize, mode "affine"):
//   weight  u32 [out, in · bits / 32]  the codes of a row, one after the other from the lowest bits of its first word on
//   scales  f16, bf16 or f32 [out, in / group_size]
//   biases  the same                   value = scale · code + bias
#pragma once

#include "wick/quant/affine_codes.h"

namespace wick::quant {

struct MlxLayout {
  int64_t rows = 0, columns = 0;
  int bits = 4;
  int64_t group_size = 64;
  DType scale_dtype = DType::f16, bias_dtype = DType::f16;
  std::span<const std::byte> codes = {}, scales = {}, biases = {};

  [[nodiscard]] int64_t groups() const { return rows * (columns / group_size); }
  [[nodiscard]] int64_t group(int64_t row, int64_t column) const { return row * (columns / group_size) + column / group_size; }
  [[nodiscard]] bool blocks_have_one_group() const { return group_size % kCodesOfBlock == 0; }
  [[nodiscard]] int code(int64_t row, int64_t column) const {
    const int64_t bit = row * columns * bits + column * bits;
    const int shift = static_cast<int>(bit % 8);
    unsigned found = number_at<uint8_t>(codes, bit / 8);
    if (shift + bits > 8) found |= static_cast<unsigned>(number_at<uint8_t>(codes, bit / 8 + 1)) << 8;
    return static_cast<int>(found >> shift & ((1U << bits) - 1));
  }
  [[nodiscard]] float scale(int64_t group) const { return float_at(scales, scale_dtype, group); }
  [[nodiscard]] float offset(int64_t group) const { return float_at(biases, bias_dtype, group); }
  [[nodiscard]] float value(int64_t row, int64_t column) const {
    const int64_t at = group(row, column);
    return scale(at) * static_cast<float>(code(row, column)) + offset(at);
  }
};

}  // namespace wick::quant
