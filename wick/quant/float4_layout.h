// Matrices [out, in] of 4-bit floats (E2M1, OCP Microscaling Formats 1.0) with a scale for each group of columns:
//   weight or weight_packed  u8 [out, in / 2]       two codes a byte, that of the even column in the low bits
//   NVFP4 (modelopt, compressed-tensors "nvfp4-pack-quantized"), groups of 16 columns
//     weight_scale           E4M3 [out, in / 16]
//     weight_scale_2         f32, a factor of the matrix (modelopt), or weight_global_scale, f32, its divisor (compressed-tensors)
//   MXFP4 (compressed-tensors "mxfp4-pack-quantized"), groups of 32 columns
//     weight_scale           u8 [out, in / 32]      E8M0: 2^(scale - 127)
// value = code · scale · factor. GGUF's blocks hold codes and scales; the factor is a tensor of its own there.
#pragma once

#include <bit>

#include "wick/quant/grouped_codes.h"
#include "wick/quant/plain_values.h"

namespace wick::quant {

struct Float4Layout {
  static constexpr int64_t kNvfp4Group = 16, kMxfp4Group = 32;
  static constexpr uint8_t kFirstBadE4m3 = 0x7f, kBadE8m0 = 0xff;  // NaN and negative scales; NaN

  int64_t rows = 0, columns = 0;
  int64_t group_size = kNvfp4Group;
  float factor = 1;
  std::span<const std::byte> codes = {}, scales = {};

  [[nodiscard]] int64_t groups_of_row() const { return columns / group_size; }
  [[nodiscard]] uint8_t code(int64_t row, int64_t column) const {
    return number_at<uint8_t>(codes, row * (columns / 2) + column / 2) >> (column % 2 * 4) & 15;
  }
  [[nodiscard]] uint8_t scale_code(int64_t row, int64_t group) const { return number_at<uint8_t>(scales, row * groups_of_row() + group); }
  [[nodiscard]] float scale(int64_t row, int64_t group) const {
    const uint8_t stored = scale_code(row, group);
    return group_size == kNvfp4Group ? f8e4m3_bits_to_float(stored) : std::ldexp(1.0F, stored - 127);
  }
  [[nodiscard]] float value(int64_t row, int64_t column) const {
    const float code_value = static_cast<float>(kFloat4Values[code(row, column)]) / 2;  // the table holds them doubled
    return code_value * scale(row, column / group_size) * factor;
  }
  // Whether all scales are numbers above or equal to 0.
  [[nodiscard]] bool has_valid_scales() const {
    const int64_t count = rows * groups_of_row();
    for (int64_t index = 0; index < count; ++index) {
      const auto stored = number_at<uint8_t>(scales, index);
      if (group_size == kNvfp4Group ? stored >= kFirstBadE4m3 : stored == kBadE8m0) return false;
    }
    return true;
  }
  // NVFP4 or MXFP4, whose values are to be multiplied by `factor`; f16 or f32 if the columns are no whole blocks.
  [[nodiscard]] DType dtype() const {
    if (group_size == kMxfp4Group) return DType::mxfp4;
    constexpr float kLargestCode = 6, kLargestScale = 448;
    return columns % BlockNVFP4::kElements == 0 ? DType::nvfp4 : plain_dtype(factor * kLargestCode * kLargestScale);
  }
  // In dtype(), or, times `factor`, in f16 or f32.
  void write(DType to_dtype, std::span<std::byte> to) const {
    if (to_dtype == DType::nvfp4) return write_nvfp4(to);
    if (to_dtype == DType::mxfp4) return write_mxfp4(to);
    write_values(*this, to_dtype, to);
  }

 private:
  // Codes of columns first + j and first + half + j in a byte.
  void put_codes(int64_t row, int64_t first, int64_t half, uint8_t* bytes) const {
    for (int64_t j = 0; j < half; ++j) bytes[j] = static_cast<uint8_t>(code(row, first + j) | code(row, first + half + j) << 4);
  }
  void write_nvfp4(std::span<std::byte> to) const {
    constexpr int64_t kGroups = BlockNVFP4::kElements / kNvfp4Group;
    std::byte* next = to.data();
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t group = 0; group < groups_of_row(); group += kGroups, next += sizeof(BlockNVFP4)) {
        BlockNVFP4 block;
        for (int64_t part = 0; part < kGroups; ++part) {
          block.scales[part] = scale_code(row, group + part);
          put_codes(row, (group + part) * kNvfp4Group, kNvfp4Group / 2, block.codes + part * (kNvfp4Group / 2));
        }
        std::memcpy(next, &block, sizeof(block));
      }
    }
  }
  void write_mxfp4(std::span<std::byte> to) const {
    std::byte* next = to.data();
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t group = 0; group < groups_of_row(); ++group, next += sizeof(BlockMXFP4)) {
        BlockMXFP4 block;
        block.exponent = scale_code(row, group);
        put_codes(row, group * kMxfp4Group, kMxfp4Group / 2, block.codes);
        std::memcpy(next, &block, sizeof(block));
      }
    }
  }
};

}  // namespace wick::quant
