// IQ4_NL and IQ4_XS: four-bit codes of unevenly spaced values.
#include <algorithm>
#include <array>
#include <cmath>

#include "wick/base/half.h"
#include "wick/quant/block_loop.h"
#include "wick/quant/rows.h"
#include "wick/quant/scale_search.h"

namespace wick::quant {
namespace {

constexpr size_t kNonlinearRun = 32;
constexpr int kSteps = 7;  // trials on either side

// The code of the value nearest to x.
uint8_t nearest_code(float x) {
  const auto value = [](size_t code) { return static_cast<float>(kNonlinearValues[code]); };
  if (x <= value(0)) return 0;
  if (x >= value(15)) return 15;
  size_t low = 0;
  size_t high = 15;
  while (high - low > 1) {
    const size_t middle = (low + high) / 2;
    if (x < value(middle))
      high = middle;
    else
      low = middle;
  }
  return static_cast<uint8_t>(x - value(high - 1) < value(high) - x ? high - 1 : high);
}

struct NonlinearSums {
  float value_code = 0;
  float code_code = 0;
};

NonlinearSums sums_of(const float* in, const std::array<float, kNonlinearRun>& weights, float inverse) {
  NonlinearSums sums;
  for (size_t j = 0; j < kNonlinearRun; ++j) {
    const auto q = static_cast<float>(kNonlinearValues[nearest_code(inverse * in[j])]);
    sums.value_code += weights[j] * q * in[j];
    sums.code_code += weights[j] * q * q;
  }
  return sums;
}

// The scale of the smallest weighted square error, among those that put the value of the largest magnitude on or near either end.
float fit_run(const float* in, const std::array<float, kNonlinearRun>& weights) {
  float extreme = 0;
  float magnitude = 0;
  for (size_t j = 0; j < kNonlinearRun; ++j) {
    if (std::fabs(in[j]) > magnitude) {
      magnitude = std::fabs(in[j]);
      extreme = in[j];
    }
  }
  if (magnitude < kZeroRun) return 0;
  constexpr auto kLowest = static_cast<float>(kNonlinearValues[0]);
  NonlinearSums sums = sums_of(in, weights, 1 / (-extreme / kLowest));
  float scale = sums.code_code > 0 ? sums.value_code / sums.code_code : 0.0f;
  float best = scale * sums.value_code;
  for (int step = -kSteps; step <= kSteps; ++step) {
    sums = sums_of(in, weights, (static_cast<float>(step) + kLowest) / extreme);
    if (sums.code_code > 0 && sums.value_code * sums.value_code > best * sums.code_code) {
      scale = sums.value_code / sums.code_code;
      best = scale * sums.value_code;
    }
  }
  return scale;
}

// importance: nullptr for weights x².
std::array<float, kNonlinearRun> weights_of(const float* in, const float* importance, float mean_square) {
  if (importance != nullptr) return Weights<kNonlinearRun>(in, importance, mean_square).values;
  std::array<float, kNonlinearRun> weights;
  for (size_t j = 0; j < kNonlinearRun; ++j) weights[j] = in[j] * in[j];
  return weights;
}

void write_codes(const float* in, float inverse, uint8_t* codes) {
  for (size_t j = 0; j < 16; ++j) {
    codes[j] = static_cast<uint8_t>(nearest_code(inverse * in[j]) | (nearest_code(inverse * in[j + 16]) << 4));
  }
}

BlockIQ4_NL quantize_iq4_nl(const float* in, const float* importance) {
  const float twice_mean_square = sum_of_squares({in, kNonlinearRun}) * (2.0f / kNonlinearRun);
  const float scale = fit_run(in, weights_of(in, importance, twice_mean_square));
  BlockIQ4_NL block{.d = float_to_f16_bits(scale), .codes = {}};
  write_codes(in, scale != 0 ? 1 / scale : 0.0f, block.codes);
  return block;
}

BlockIQ4_XS quantize_iq4_xs(const float* in, const float* importance) {
  constexpr size_t kSuperBlock = 256;
  const float twice_mean_square = sum_of_squares({in, kSuperBlock}) * (2.0f / kSuperBlock);
  std::array<float, 8> scales;
  float extreme = 0;
  for (size_t run = 0; run < 8; ++run) {
    const float* from = in + run * kNonlinearRun;
    scales[run] = fit_run(from, weights_of(from, importance == nullptr ? nullptr : importance + run * kNonlinearRun, twice_mean_square));
    if (std::fabs(scales[run]) > std::fabs(extreme)) extreme = scales[run];
  }
  BlockIQ4_XS block{};
  const float d = -extreme / 32;
  block.d = float_to_f16_bits(d);
  const float inverse = d != 0 ? 1 / d : 0.0f;
  for (size_t run = 0; run < 8; ++run) {
    const int scale = std::clamp(nearest_integer(inverse * scales[run]), -32, 31);
    const float run_scale = d * static_cast<float>(scale);
    write_codes(in + run * kNonlinearRun, run_scale != 0 ? 1 / run_scale : 0.0f, block.codes + run * 16);
    const int bits = scale + 32;
    block.low_scales[run / 2] = static_cast<uint8_t>(block.low_scales[run / 2] | ((bits & 15) << (run % 2 * 4)));
    block.high_scales = static_cast<uint16_t>(block.high_scales | ((bits >> 4) << (2 * run)));
  }
  return block;
}

void write_values(const uint8_t* codes, float scale, float* out) {
  for (size_t j = 0; j < 16; ++j) {
    out[j] = scale * static_cast<float>(kNonlinearValues[codes[j] & 15]);
    out[j + 16] = scale * static_cast<float>(kNonlinearValues[codes[j] >> 4]);
  }
}

}  // namespace

void unpack_iq4_nl(const std::byte* blocks, std::span<float> values) {
  unpack_blocks<BlockIQ4_NL>(blocks, values,
                             [](const BlockIQ4_NL& block, float* out) { write_values(block.codes, f16_bits_to_float(block.d), out); });
}

void unpack_iq4_xs(const std::byte* blocks, std::span<float> values) {
  unpack_blocks<BlockIQ4_XS>(blocks, values, [](const BlockIQ4_XS& block, float* out) {
    const float d = f16_bits_to_float(block.d);
    for (size_t run = 0; run < 8; ++run) {
      const int scale = ((block.low_scales[run / 2] >> (run % 2 * 4)) & 15) | (((block.high_scales >> (2 * run)) & 3) << 4);
      write_values(block.codes + run * 16, d * static_cast<float>(scale - 32), out + run * kNonlinearRun);
    }
  });
}

void pack_iq4_nl(std::span<const float> values, std::byte* blocks) {
  pack_blocks<BlockIQ4_NL>(values, blocks, [](const float* in) { return quantize_iq4_nl(in, nullptr); });
}
void pack_iq4_xs(std::span<const float> values, std::byte* blocks) {
  pack_blocks<BlockIQ4_XS>(values, blocks, [](const float* in) { return quantize_iq4_xs(in, nullptr); });
}
void pack_weighted_iq4_nl(std::span<const float> row, std::span<const float> importance, std::byte* blocks) {
  pack_weighted_blocks<BlockIQ4_NL>(row, importance, blocks, quantize_iq4_nl);
}
void pack_weighted_iq4_xs(std::span<const float> row, std::span<const float> importance, std::byte* blocks) {
  pack_weighted_blocks<BlockIQ4_XS>(row, importance, blocks, quantize_iq4_xs);
}

}  // namespace wick::quant
