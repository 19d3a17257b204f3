// Matrices [out, in] as AWQ's programs store them for their GEMM kernels (Lin et al. 2023), 4 bits a code:
//   qweight  i32 [in, out / 8]      codes of 8 rows, from the lowest bits on those of rows 0 2 4 6 1 3 5 7
//   qzeros   i32 [groups, out / 8]  the same of zeros
//   scales   f16 [groups, out]
#pragma once

#include "wick/quant/grouped_codes.h"

namespace wick::quant {

struct AwqLayout {
  int64_t rows = 0, columns = 0;
  int bits = 4;
  int64_t group_size = 128, group_count = 1;
  DType scale_dtype = DType::f16;
  std::span<const std::byte> codes = {}, zeros = {}, scales = {};

  [[nodiscard]] int64_t groups() const { return group_count; }
  [[nodiscard]] int64_t group(int64_t column) const { return column / group_size; }
  [[nodiscard]] int code(int64_t row, int64_t column) const { return nibble(codes, column, row); }
  [[nodiscard]] int zero(int64_t row, int64_t group) const { return nibble(zeros, group, row); }
  [[nodiscard]] float scale(int64_t row, int64_t group) const { return float_at(scales, scale_dtype, group * rows + row); }

 private:
  [[nodiscard]] int nibble(std::span<const std::byte> words, int64_t line, int64_t row) const {
    constexpr int kPlaces[8] = {0, 4, 1, 5, 2, 6, 3, 7};  // of each of 8 rows
    const auto word = number_at<uint32_t>(words, line * (rows / 8) + row / 8);
    return static_cast<int>(word >> (4 * kPlaces[row % 8]) & 15);
  }
};

}  // namespace wick::quant
