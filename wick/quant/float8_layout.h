// Matrices [out, in] of 8-bit floats (OCP OFP8 E4M3) with a scale for blocks of rows and columns: DeepSeek V3 and Qwen 3
// ("weight_scale_inv" f32 [out / 128, in / 128]), compressed-tensors ("weight_scale" [out, 1], [1] or of blocks) and modelopt
// ("weight_scale" [1]). value = scale · code, rounded once to f16, which holds every code.
#pragma once

#include <cmath>

#include "wick/quant/grouped_codes.h"

namespace wick::quant {

struct Float8Layout {
  int64_t rows = 0, columns = 0;
  int64_t block_rows = 1, block_columns = 1;  // of a scale
  DType scale_dtype = DType::f32;
  std::span<const std::byte> codes = {}, scales = {};

  [[nodiscard]] int64_t scales_of_row() const { return (columns + block_columns - 1) / block_columns; }
  [[nodiscard]] float value(int64_t row, int64_t column) const {
    const float scale = float_at(scales, scale_dtype, row / block_rows * scales_of_row() + column / block_columns);
    return f8e4m3_bits_to_float(number_at<uint8_t>(codes, row * columns + column)) * scale;
  }
  // Whether no value is too large for f16.
  [[nodiscard]] bool fits_f16() const {
    constexpr float kLargestCode = 448, kLargest = 65504;
    const int64_t count = (rows + block_rows - 1) / block_rows * scales_of_row();
    for (int64_t index = 0; index < count; ++index) {
      if (!(std::fabs(float_at(scales, scale_dtype, index)) * kLargestCode <= kLargest)) return false;
    }
    return true;
  }
};

}  // namespace wick::quant
