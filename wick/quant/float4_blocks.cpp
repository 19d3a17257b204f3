// MXFP4 and NVFP4: four-bit floats (E2M1) with small scales.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "wick/quant/block_loop.h"
#include "wick/quant/rounding.h"
#include "wick/quant/rows.h"

namespace wick::quant {
namespace {

// Half of 2^(exponent - 127): the table of values is doubled. Exponents 0 and 1 give subnormal numbers.
float half_power_of_two(uint8_t exponent) {
  const uint32_t bits = exponent < 2 ? 0x00200000u << exponent : static_cast<uint32_t>(exponent - 1) << 23;
  return std::bit_cast<float>(bits);
}

// Half of an unsigned float of 4 exponent bits (bias 7) and 3 mantissa bits; the code of NaN counts as 0.
float half_of_e4m3(uint8_t code) {
  if (code == 0 || code == 0x7f) return 0;
  const int exponent = (code >> 3) & 15;
  const auto mantissa = static_cast<float>(code & 7);
  const float value = exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(1.0f + mantissa / 8.0f, exponent - 7);
  return value * 0.5f;
}

// The nearest such float; up to 448, and 0 for what is not above 0.
uint8_t to_e4m3(float value) {
  constexpr uint8_t kHighest = 0x7e;
  if (!(value > 0.0f)) return 0;
  value = std::min(value, 448.0f);
  const auto bits = std::bit_cast<uint32_t>(value);
  int exponent = static_cast<int>((bits >> 23) & 255) - 127 + 7;
  // As llama.cpp rounds. NOLINTNEXTLINE(bugprone-incorrect-roundings)
  if (exponent <= 0) return static_cast<uint8_t>(std::min(static_cast<int>(value * 512.0f + 0.5f), 7));
  int mantissa = static_cast<int>((bits >> 20) & 7) + static_cast<int>((bits >> 19) & 1);  // ties away from zero
  if (mantissa > 7) {
    mantissa = 0;
    ++exponent;
  }
  return exponent >= 15 ? kHighest : static_cast<uint8_t>((exponent << 3) | mantissa);
}

float error_of(int code, float scale, float value) { return std::fabs(static_cast<float>(kFloat4Values[code]) * scale - value); }

// The code of the smallest error for each value; the first of equal ones. The errors first, then the codes: loops that compilers vectorize.
template <size_t kCount>
std::array<int, kCount> nearest_codes(const float* in, float scale) {
  std::array<float, kCount> errors;
  for (size_t j = 0; j < kCount; ++j) errors[j] = error_of(0, scale, in[j]);
  for (int code = 1; code < 16; ++code) {
    for (size_t j = 0; j < kCount; ++j) errors[j] = std::min(errors[j], error_of(code, scale, in[j]));
  }
  std::array<int, kCount> nearest{};
  for (int code = 15; code >= 0; --code) {
    for (size_t j = 0; j < kCount; ++j) nearest[j] = error_of(code, scale, in[j]) == errors[j] ? code : nearest[j];
  }
  return nearest;
}

// Byte j has the codes of elements j and j + kHalf.
template <size_t kHalf>
void write_nearest(const float* in, float scale, uint8_t* codes) {
  const std::array<int, 2 * kHalf> nearest = nearest_codes<2 * kHalf>(in, scale);
  for (size_t j = 0; j < kHalf; ++j) codes[j] = static_cast<uint8_t>(nearest[j] | (nearest[j + kHalf] << 4));
}

void write_values(const uint8_t* codes, size_t half, float scale, float* out) {
  for (size_t j = 0; j < half; ++j) {
    out[j] = static_cast<float>(kFloat4Values[codes[j] & 15]) * scale;
    out[j + half] = static_cast<float>(kFloat4Values[codes[j] >> 4]) * scale;
  }
}

BlockMXFP4 quantize_mxfp4(const float* in) {
  const float magnitude = largest_magnitude(in, 32);
  BlockMXFP4 block{};
  // The largest code is 6 = 1.5 · 2^2.
  if (magnitude > 0) block.exponent = static_cast<uint8_t>(truncate_to_int(std::floor(std::log2(magnitude)) - 2 + 127, 0, 254));
  write_nearest<16>(in, half_power_of_two(block.exponent), block.codes);
  return block;
}

BlockNVFP4 quantize_nvfp4(const float* in) {
  BlockNVFP4 block{};
  for (size_t run = 0; run < 4; ++run) {
    block.scales[run] = to_e4m3(largest_magnitude(in + run * 16, 16) / 6.0f);
    write_nearest<8>(in + run * 16, half_of_e4m3(block.scales[run]), block.codes + run * 8);
  }
  return block;
}

}  // namespace

void unpack_mxfp4(const std::byte* blocks, std::span<float> values) {
  unpack_blocks<BlockMXFP4>(
      blocks, values, [](const BlockMXFP4& block, float* out) { write_values(block.codes, 16, half_power_of_two(block.exponent), out); });
}

void unpack_nvfp4(const std::byte* blocks, std::span<float> values) {
  unpack_blocks<BlockNVFP4>(blocks, values, [](const BlockNVFP4& block, float* out) {
    for (size_t run = 0; run < 4; ++run) write_values(block.codes + run * 8, 8, half_of_e4m3(block.scales[run]), out + run * 16);
  });
}

void pack_mxfp4(std::span<const float> values, std::byte* blocks) { pack_blocks<BlockMXFP4>(values, blocks, quantize_mxfp4); }
void pack_nvfp4(std::span<const float> values, std::byte* blocks) { pack_blocks<BlockNVFP4>(values, blocks, quantize_nvfp4); }

}  // namespace wick::quant
