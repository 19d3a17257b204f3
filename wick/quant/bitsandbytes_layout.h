// Matrices [out, in] as bitsandbytes stores them (Dettmers et al. 2022 and 2023).
// 4 bits (NF4, FP4), elements in row-major order, in blocks that may reach over the ends of rows:
//   weight                       u8 [elements / 2, 1]  two codes a byte, the first in the high bits
//   weight.quant_map             f32 [16]              the value of each code
//   weight.absmax                f32 [blocks]          value = quant_map[code] · absmax
//   or u8 [blocks], with weight.nested_absmax f32 [blocks / nested_blocksize] and weight.nested_quant_map f32 [256]:
//                                                      absmax = nested_quant_map[absmax] · nested_absmax + nested_offset
//   weight.quant_state.bitsandbytes__nf4               a JSON text with blocksize, shape, nested_blocksize and nested_offset
// 8 bits (LLM.int8): weight i8 [out, in], SCB f32 [out]; value = code · SCB / 127
#pragma once

#include <algorithm>

#include "wick/quant/grouped_codes.h"
#include "wick/quant/plain_values.h"

namespace wick::quant {

struct Codebook4Layout {
  int64_t rows = 0, columns = 0;
  int64_t block_size = 64;
  int64_t nested_block_size = 0;  // 0: absmax is f32
  float nested_offset = 0;
  std::span<const std::byte> codes = {}, map = {}, absmax = {}, nested_absmax = {}, nested_map = {};

  [[nodiscard]] int64_t blocks() const { return (rows * columns + block_size - 1) / block_size; }
  [[nodiscard]] float scale(int64_t block) const {
    if (nested_block_size == 0) return number_at<float>(absmax, block);
    const float nested = number_at<float>(nested_map, number_at<uint8_t>(absmax, block));
    return nested * number_at<float>(nested_absmax, block / nested_block_size) + nested_offset;
  }
  [[nodiscard]] float value(int64_t row, int64_t column) const {
    const int64_t element = row * columns + column;
    const int code = number_at<uint8_t>(codes, element / 2) >> (element % 2 == 0 ? 4 : 0) & 15;
    return number_at<float>(map, code) * scale(element / block_size);
  }
  [[nodiscard]] DType dtype() const {
    float largest = 0, largest_code = 0;
    for (int code = 0; code < 16; ++code) {
      const float magnitude = std::fabs(number_at<float>(map, code));
      if (!(magnitude <= largest_code)) largest_code = magnitude;
    }
    for (int64_t block = 0; block < blocks() && !std::isnan(largest); ++block) {
      const float magnitude = std::fabs(scale(block)) * largest_code;
      if (!(magnitude <= largest)) largest = magnitude;
    }
    return plain_dtype(largest);
  }
};

struct Int8RowsLayout {
  int64_t rows = 0, columns = 0;
  std::span<const std::byte> codes = {}, scales = {};

  [[nodiscard]] float value(int64_t row, int64_t column) const {
    return static_cast<float>(number_at<int8_t>(codes, row * columns + column)) * number_at<float>(scales, row) * (1.0F / 127);
  }
  [[nodiscard]] DType dtype() const {
    float largest = 0;
    for (int64_t row = 0; row < rows && !std::isnan(largest); ++row) {
      const float magnitude = std::fabs(number_at<float>(scales, row)) * (128.0F / 127);
      if (!(magnitude <= largest)) largest = magnitude;
    }
    return plain_dtype(largest);
  }
};

}  // namespace wick::quant
