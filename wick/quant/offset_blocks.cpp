// Q4_1, Q5_0, Q5_1 and Q8_1: blocks of 32 with a scale and an offset, or with a fifth bit.
#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstring>

#include "wick/base/half.h"
#include "wick/quant/block_loop.h"
#include "wick/quant/rounding.h"
#include "wick/quant/rows.h"
#include "wick/quant/scale_search.h"

namespace wick::quant {
namespace {

constexpr size_t kOffsetRun = 32;
using OffsetCodes = std::array<uint8_t, kOffsetRun>;

void store_low_bits(const OffsetCodes& codes, uint8_t (&bytes)[16]) {
  for (size_t j = 0; j < 16; ++j) bytes[j] = static_cast<uint8_t>((codes[j] & 15) | ((codes[j + 16] & 15) << 4));
}

void store_high_bits(const OffsetCodes& codes, uint8_t (&bytes)[4]) {
  std::fill(std::begin(bytes), std::end(bytes), uint8_t{0});
  for (size_t j = 0; j < kOffsetRun; ++j) bytes[j / 8] = static_cast<uint8_t>(bytes[j / 8] | (((codes[j] >> 4) & 1) << (j % 8)));
}

int low_code(const uint8_t (&bytes)[16], size_t j) { return j < 16 ? bytes[j] & 15 : bytes[j - 16] >> 4; }
int fifth_bit(const uint8_t (&bytes)[4], size_t j) { return ((bytes[j / 8] >> (j % 8)) & 1) << 4; }

// What one block of an affine format holds: value = d · code + m.
struct Affine {
  uint16_t d = 0;
  uint16_t m = 0;
  OffsetCodes codes{};
};

Affine quantize_affine(const float* in, int max_code) {
  float low = FLT_MAX;
  float high = -FLT_MAX;
  for (size_t j = 0; j < kOffsetRun; ++j) {
    low = in[j] < low ? in[j] : low;
    high = in[j] > high ? in[j] : high;
  }
  const float d = (high - low) / static_cast<float>(max_code);
  const float inverse = d != 0 ? 1.0f / d : 0.0f;
  Affine block{.d = float_to_f16_bits(d), .m = float_to_f16_bits(low), .codes = {}};
  for (size_t j = 0; j < kOffsetRun; ++j) {
    block.codes[j] = static_cast<uint8_t>(truncate_to_int((in[j] - low) * inverse + 0.5f, 0, static_cast<float>(max_code)));
  }
  return block;
}

Affine quantize_affine(const float* in, std::span<const float> weights, int max_code) {
  Affine block;
  const AffineFit fit = fit_affine({in, kOffsetRun}, weights, weighted_affine_search(max_code), block.codes);
  block.d = float_to_f16_bits(fit.scale);
  block.m = float_to_f16_bits(-fit.min);
  return block;
}

BlockQ4_1 q4_1_of(const Affine& source) {
  BlockQ4_1 block{.d = source.d, .m = source.m, .codes = {}};
  store_low_bits(source.codes, block.codes);
  return block;
}

BlockQ5_1 q5_1_of(const Affine& source) {
  BlockQ5_1 block{.d = source.d, .m = source.m, .high_bits = {}, .codes = {}};
  store_low_bits(source.codes, block.codes);
  store_high_bits(source.codes, block.high_bits);
  return block;
}

BlockQ5_0 q5_0_of(float d, const OffsetCodes& codes) {
  BlockQ5_0 block{.d = float_to_f16_bits(d), .high_bits = {}, .codes = {}};
  store_low_bits(codes, block.codes);
  store_high_bits(codes, block.high_bits);
  return block;
}

BlockQ8_1 quantize_q8_1(const float* in) {
  float magnitude = 0;
  for (size_t j = 0; j < kOffsetRun; ++j) magnitude = std::max(magnitude, std::fabs(in[j]));
  const float d = magnitude / 127;
  const float inverse = d != 0 ? 1.0f / d : 0.0f;
  BlockQ8_1 block{.d = float_to_f16_bits(d), .sum = 0, .codes = {}};
  int sum = 0;
  for (size_t j = 0; j < kOffsetRun; ++j) {
    block.codes[j] = static_cast<int8_t>(truncate_to_int(std::round(in[j] * inverse), -127, 127));
    sum += block.codes[j];
  }
  block.sum = float_to_f16_bits(static_cast<float>(sum) * d);
  return block;
}

}  // namespace

void unpack_q4_1(const std::byte* blocks, std::span<float> values) {
  unpack_blocks<BlockQ4_1>(blocks, values, [](const BlockQ4_1& block, float* out) {
    const float d = f16_bits_to_float(block.d);
    const float m = f16_bits_to_float(block.m);
    for (size_t j = 0; j < kOffsetRun; ++j) out[j] = static_cast<float>(low_code(block.codes, j)) * d + m;
  });
}

void unpack_q5_0(const std::byte* blocks, std::span<float> values) {
  unpack_blocks<BlockQ5_0>(blocks, values, [](const BlockQ5_0& block, float* out) {
    const float d = f16_bits_to_float(block.d);
    for (size_t j = 0; j < kOffsetRun; ++j) {
      out[j] = static_cast<float>((low_code(block.codes, j) | fifth_bit(block.high_bits, j)) - 16) * d;
    }
  });
}

void unpack_q5_1(const std::byte* blocks, std::span<float> values) {
  unpack_blocks<BlockQ5_1>(blocks, values, [](const BlockQ5_1& block, float* out) {
    const float d = f16_bits_to_float(block.d);
    const float m = f16_bits_to_float(block.m);
    for (size_t j = 0; j < kOffsetRun; ++j) out[j] = static_cast<float>(low_code(block.codes, j) | fifth_bit(block.high_bits, j)) * d + m;
  });
}

void unpack_q8_1(const std::byte* blocks, std::span<float> values) {
  unpack_blocks<BlockQ8_1>(blocks, values, [](const BlockQ8_1& block, float* out) {
    const float d = f16_bits_to_float(block.d);
    for (size_t j = 0; j < kOffsetRun; ++j) out[j] = static_cast<float>(block.codes[j]) * d;
  });
}

void pack_q4_1(std::span<const float> values, std::byte* blocks) {
  pack_blocks<BlockQ4_1>(values, blocks, [](const float* in) { return q4_1_of(quantize_affine(in, 15)); });
}

void pack_q5_1(std::span<const float> values, std::byte* blocks) {
  pack_blocks<BlockQ5_1>(values, blocks, [](const float* in) { return q5_1_of(quantize_affine(in, 31)); });
}

void pack_q5_0(std::span<const float> values, std::byte* blocks) {
  pack_blocks<BlockQ5_0>(values, blocks, [](const float* in) {
    float extreme = 0;  // becomes code 0, which means -16
    for (size_t j = 0; j < kOffsetRun; ++j) extreme = std::fabs(in[j]) > std::fabs(extreme) ? in[j] : extreme;
    const float d = extreme / -16;
    const float inverse = d != 0 ? 1.0f / d : 0.0f;
    OffsetCodes codes;
    for (size_t j = 0; j < kOffsetRun; ++j) codes[j] = static_cast<uint8_t>(truncate_to_int(in[j] * inverse + 16.5f, 0, 31));
    return q5_0_of(d, codes);
  });
}

void pack_q8_1(std::span<const float> values, std::byte* blocks) { pack_blocks<BlockQ8_1>(values, blocks, quantize_q8_1); }

void pack_weighted_q4_0(std::span<const float> row, std::span<const float> importance, std::byte* blocks) {
  const float mean_square = sum_of_squares(row) / static_cast<float>(row.size());
  pack_weighted_blocks<BlockQ4_0>(row, importance, blocks, [&](const float* in, const float* weights) {
    const Weights<kOffsetRun> run(in, weights, mean_square);
    OffsetCodes codes{};
    BlockQ4_0 block{};
    block.d = float_to_f16_bits(fit_symmetric({in, kOffsetRun}, run.values, 8, codes));
    store_low_bits(codes, block.codes);
    return block;
  });
}

void pack_weighted_q4_1(std::span<const float> row, std::span<const float> importance, std::byte* blocks) {
  const float mean_square = sum_of_squares(row) / static_cast<float>(row.size());
  pack_weighted_blocks<BlockQ4_1>(row, importance, blocks, [&](const float* in, const float* weights) {
    return q4_1_of(quantize_affine(in, Weights<kOffsetRun>(in, weights, mean_square).values, 15));
  });
}

void pack_weighted_q5_0(std::span<const float> row, std::span<const float> importance, std::byte* blocks) {
  const float mean_square = sum_of_squares(row) / static_cast<float>(row.size());
  pack_weighted_blocks<BlockQ5_0>(row, importance, blocks, [&](const float* in, const float* weights) {
    const Weights<kOffsetRun> run(in, weights, mean_square);
    OffsetCodes codes{};
    const float d = fit_symmetric({in, kOffsetRun}, run.values, 16, codes);
    return q5_0_of(d, codes);
  });
}

void pack_weighted_q5_1(std::span<const float> row, std::span<const float> importance, std::byte* blocks) {
  const float mean_square = sum_of_squares(row) / static_cast<float>(row.size());
  pack_weighted_blocks<BlockQ5_1>(row, importance, blocks, [&](const float* in, const float* weights) {
    return q5_1_of(quantize_affine(in, Weights<kOffsetRun>(in, weights, mean_square).values, 31));
  });
}

}  // namespace wick::quant
