// Matrices [out, in] as GPTQ's programs store them (Frantar et al. 2022; AutoGPTQ, GPTQModel, auto-round):
//   qweight  i32 [in · bits / 32, out]     code (o, i) is in word [i · bits / 32][o], from bit i · bits mod 32 on
//   qzeros   i32 [groups, out · bits / 32] zero (g, o) is in word [g][o · bits / 32], from bit o · bits mod 32 on; less 1 in files of the
//                                          first form ("gptq"), as it is in those of the second ("gptq_v2")
//   scales   f16 [groups, out]
//   g_idx    i32 [in]                      the group of each column; without it column i has group i / group_size
#pragma once

#include "wick/quant/grouped_codes.h"

namespace wick::quant {

struct GptqLayout {
  int64_t rows = 0, columns = 0;
  int bits = 4;
  int64_t group_size = 128, group_count = 1;
  bool zeros_less_one = true;
  DType scale_dtype = DType::f16;
  std::span<const std::byte> codes = {}, zeros = {}, scales = {};
  std::span<const std::byte> group_index = {};  // empty: by group_size

  [[nodiscard]] int64_t groups() const { return group_count; }
  [[nodiscard]] int64_t group(int64_t column) const {
    return group_index.empty() ? column / group_size : number_at<int32_t>(group_index, column);
  }
  [[nodiscard]] int code(int64_t row, int64_t column) const {
    const int64_t bit = column * bits;
    return static_cast<int>(number_at<uint32_t>(codes, bit / 32 * rows + row) >> (bit % 32) & mask());
  }
  [[nodiscard]] int zero(int64_t row, int64_t group) const {
    const int64_t bit = row * bits;
    const auto stored = static_cast<int>(number_at<uint32_t>(zeros, group * (rows * bits / 32) + bit / 32) >> (bit % 32) & mask());
    return zeros_less_one ? static_cast<int>((static_cast<uint32_t>(stored) + 1) & mask()) : stored;
  }
  [[nodiscard]] float scale(int64_t row, int64_t group) const { return float_at(scales, scale_dtype, group * rows + row); }
  [[nodiscard]] uint32_t mask() const { return (1U << bits) - 1; }
};

}  // namespace wick::quant
