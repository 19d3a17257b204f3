// Matrices [out, in] as HQQ stores them (Badri and Shaji 2023; hqq's HQQLinear). Their elements in row-major order are a table
// [groups, group_size] (axis 1), or [group_size, groups] (axis 0):
//   W_q          u8: the table's rows in 8 / bits equal parts, each of which has some bits of every byte, the first part the highest
//   scale, zero  f16, bf16 or f32, one number for each group; value = (code - zero) · scale
//   axis, nbits  i32; shape i64 [2]
#pragma once

#include "wick/quant/affine_codes.h"

namespace wick::quant {

struct HqqLayout {
  int64_t rows = 0, columns = 0;
  int bits = 4;
  int axis = 1;
  int64_t group_count = 1;
  DType scale_dtype = DType::f16, zero_dtype = DType::f16;
  std::span<const std::byte> codes = {}, scales = {}, zeros = {};

  [[nodiscard]] int64_t group_size() const { return rows * columns / group_count; }
  [[nodiscard]] int64_t groups() const { return group_count; }
  [[nodiscard]] int64_t group(int64_t row, int64_t column) const {
    const int64_t element = row * columns + column;
    return axis == 1 ? element / group_size() : element % group_count;
  }
  [[nodiscard]] bool blocks_have_one_group() const { return axis == 1 && group_size() % kCodesOfBlock == 0; }
  // Rows and columns of the table.
  [[nodiscard]] int64_t table_rows() const { return axis == 1 ? group_count : group_size(); }
  [[nodiscard]] int64_t table_columns() const { return axis == 1 ? group_size() : group_count; }
  [[nodiscard]] int code(int64_t row, int64_t column) const {
    const int64_t element = row * columns + column, line = element / table_columns();
    const int64_t lines_of_part = table_rows() / (8 / bits);
    const auto shift = static_cast<int>(8 - bits * (line / lines_of_part + 1));
    const auto byte = number_at<uint8_t>(codes, line % lines_of_part * table_columns() + element % table_columns());
    return byte >> shift & ((1 << bits) - 1);
  }
  [[nodiscard]] float scale(int64_t group) const { return float_at(scales, scale_dtype, group); }
  [[nodiscard]] float zero(int64_t group) const { return float_at(zeros, zero_dtype, group); }
  [[nodiscard]] float offset(int64_t group) const { return -zero(group) * scale(group); }
  [[nodiscard]] float value(int64_t row, int64_t column) const {
    const int64_t at = group(row, column);
    return (static_cast<float>(code(row, column)) - zero(at)) * scale(at);
  }
};

}  // namespace wick::quant
