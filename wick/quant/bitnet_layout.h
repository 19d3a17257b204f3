// Matrices [out, in] of ternary codes as transformers packs them (BitNet b1.58, Wang et al. 2025; integrations/bitnet.py):
//   weight        u8 [out / 4, in]  the code of row r, 0 to 2 for -1, 0 and 1, is in byte [r mod (out / 4)], from bit 2 · (r / (out / 4))
//   on weight_scale  one number: value = (code - 1) · weight_scale of "autobitlinear", (code - 1) / weight_scale of "bitlinear"
// They become TQ2_0 or Q2_0 if the scale is an f16 number, else I2_S, whose scale is an f32.
#pragma once

#include "wick/quant/grouped_codes.h"
#include "wick/quant/i2_s.h"
#include "wick/quant/plain_values.h"

namespace wick::quant {

struct BitNetLayout {
  int64_t rows = 0, columns = 0;
  float scale = 1;
  std::span<const std::byte> codes = {};

  [[nodiscard]] uint8_t code(int64_t row, int64_t column) const {
    const int64_t part = rows / 4;
    return number_at<uint8_t>(codes, row % part * columns + column) >> (row / part * 2) & 3;
  }
  [[nodiscard]] float value(int64_t row, int64_t column) const { return static_cast<float>(code(row, column) - 1) * scale; }
  [[nodiscard]] bool has_valid_codes() const {
    for (const std::byte byte : codes) {
      const auto bits = std::to_integer<unsigned>(byte);
      if ((bits & bits >> 1 & 0x55) != 0) return false;  // both bits of a code are set
    }
    return true;
  }
  [[nodiscard]] DType dtype() const {
    if (static_cast<float>(f16(scale)) == scale && columns % info(ternary_blocks_for(columns)).block_elements == 0)
      return ternary_blocks_for(columns);
    return columns % info(DType::i2_s).block_elements == 0 ? DType::i2_s : plain_dtype(scale);
  }
  void write(DType to_dtype, std::span<std::byte> to) const {
    if (to_dtype == DType::tq2_0) return write_tq2_0(to);
    if (to_dtype == DType::q2_0) return write_q2_0(to);
    if (to_dtype == DType::i2_s) return write_i2_s(to);
    write_values(*this, to_dtype, to);
  }

 private:
  // Byte j of each half of 128 codes has those of elements j, j + 32, j + 64 and j + 96, from the lowest bits on.
  void write_tq2_0(std::span<std::byte> to) const {
    std::byte* next = to.data();
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t first = 0; first < columns; first += BlockTQ2_0::kElements, next += sizeof(BlockTQ2_0)) {
        BlockTQ2_0 block{.codes = {}, .d = f16(scale).bits};
        for (int64_t j = 0; j < BlockTQ2_0::kElements; ++j) {
          uint8_t& byte = block.codes[j / 128 * 32 + j % 32];
          byte = static_cast<uint8_t>(byte | code(row, first + j) << (j % 128 / 32 * 2));
        }
        std::memcpy(next, &block, sizeof(block));
      }
    }
  }
  void write_q2_0(std::span<std::byte> to) const {
    std::byte* next = to.data();
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t first = 0; first < columns; first += BlockQ2_0::kElements, next += sizeof(BlockQ2_0)) {
        BlockQ2_0 block{.d = f16(scale).bits, .codes = {}};
        for (int64_t j = 0; j < BlockQ2_0::kElements; ++j)
          block.codes[j / 4] = static_cast<uint8_t>(block.codes[j / 4] | code(row, first + j) << (j % 4 * 2));
        std::memcpy(next, &block, sizeof(block));
      }
    }
  }
  // i2_s.h has the places of the codes.
  void write_i2_s(std::span<std::byte> to) const {
    std::fill(to.begin(), to.end(), std::byte{0});
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        const int64_t element = row * columns + column;
        const int64_t at = element / 128 * 32 + element % 32;
        to[static_cast<size_t>(at)] |= static_cast<std::byte>(code(row, column) << (6 - element % 128 / 32 * 2));
      }
    }
    std::memcpy(to.data() + rows * columns / 4, &scale, sizeof(scale));
  }
};

}  // namespace wick::quant
