// Q2_K, Q3_K and Q8_K: super-blocks of 256 in runs of 16.
#include <algorithm>
#include <array>
#include <cmath>

#include "wick/base/half.h"
#include "wick/quant/block_loop.h"
#include "wick/quant/rows.h"
#include "wick/quant/scale_search.h"

namespace wick::quant {
namespace {

constexpr size_t kLowSuperBlock = 256;
constexpr size_t kLowRun = 16;
constexpr size_t kLowRuns = kLowSuperBlock / kLowRun;

using LowCodes = std::array<uint8_t, kLowSuperBlock>;
using Scales = std::array<float, kLowRuns>;
using ScaleCodes = std::array<uint8_t, kLowRuns>;

std::span<const float> run_of(const float* in, size_t run) { return {in + run * kLowRun, kLowRun}; }
std::span<uint8_t> run_of(LowCodes& codes, size_t run) { return std::span(codes).subspan(run * kLowRun, kLowRun); }

// Where the two low bits of an element lie.
constexpr size_t byte_of(size_t element) { return element / 128 * 32 + element % 32; }
constexpr int shift_of(size_t element) { return static_cast<int>(element / 32 % 4 * 2); }

void store_low_bits(const LowCodes& codes, uint8_t (&bytes)[64]) {
  for (size_t element = 0; element < kLowSuperBlock; ++element) {
    uint8_t& byte = bytes[byte_of(element)];
    byte = static_cast<uint8_t>(byte | ((codes[element] & 3) << shift_of(element)));
  }
}

float sum_of(std::span<const float> values) {
  float sum = 0;
  for (const float value : values) sum += value;
  return sum;
}

// What Q2_K's two quantizers end with: the codes against the scales as they are stored.
BlockQ2_K q2_k_of(const float* in, float d, float dmin, const ScaleCodes& scales, const ScaleCodes& mins, LowCodes& codes) {
  BlockQ2_K block{};
  block.d = float_to_f16_bits(d);
  block.dmin = float_to_f16_bits(dmin);
  for (size_t run = 0; run < kLowRuns; ++run) {
    block.scales[run] = static_cast<uint8_t>(scales[run] | (mins[run] << 4));
    const float scale = f16_bits_to_float(block.d) * static_cast<float>(block.scales[run] & 15);
    if (scale == 0) continue;
    const float min = f16_bits_to_float(block.dmin) * static_cast<float>(block.scales[run] >> 4);
    for (size_t j = run * kLowRun; j < (run + 1) * kLowRun; ++j) {
      codes[j] = static_cast<uint8_t>(std::clamp(nearest_integer((in[j] + min) / scale), 0, 3));
    }
  }
  store_low_bits(codes, block.codes);
  return block;
}

BlockQ2_K quantize_q2_k(const float* in) {
  LowCodes codes{};
  Scales scales;
  Scales mins;
  float max_scale = 0;
  float max_min = 0;
  for (size_t run = 0; run < kLowRuns; ++run) {
    std::array<float, kLowRun> weights;
    for (size_t j = 0; j < kLowRun; ++j) weights[j] = std::fabs(in[run * kLowRun + j]);
    const AffineSearch search{.max_code = 3, .first_step = -0.5f, .step = 0.1f, .steps = 15, .absolute = true};
    const AffineFit fit = fit_affine(run_of(in, run), weights, search, run_of(codes, run));
    scales[run] = fit.scale;
    mins[run] = fit.min;
    max_scale = fit.scale > max_scale ? fit.scale : max_scale;
    max_min = fit.min > max_min ? fit.min : max_min;
  }
  const auto four_bits = [](const Scales& values, float max) {
    ScaleCodes bits{};
    if (!(max > 0)) return bits;
    const float inverse = 15.0f / max;
    for (size_t run = 0; run < kLowRuns; ++run) bits[run] = static_cast<uint8_t>(nearest_integer(inverse * values[run]));
    return bits;
  };
  return q2_k_of(in, max_scale / 15.0f, max_min / 15.0f, four_bits(scales, max_scale), four_bits(mins, max_min), codes);
}

BlockQ2_K quantize_weighted_q2_k(const float* in, const float* importance) {
  const float mean_square = sum_of_squares({in, kLowSuperBlock}) / kLowSuperBlock;
  LowCodes codes{};
  Scales scales;
  Scales mins;
  Scales run_weights;
  for (size_t run = 0; run < kLowRuns; ++run) {
    const Weights<kLowRun> weights(in + run * kLowRun, importance + run * kLowRun, mean_square);
    run_weights[run] = sum_of(weights.values);
    const AffineFit fit = fit_affine(run_of(in, run), weights.values, weighted_affine_search(3), run_of(codes, run));
    scales[run] = fit.scale;
    mins[run] = fit.min;
  }
  ScaleCodes scale_codes{};
  ScaleCodes min_codes{};
  const float d = fit_positive(scales, run_weights, 15, scale_codes);
  const float dmin = fit_positive(mins, run_weights, 15, min_codes);
  return q2_k_of(in, d, dmin, scale_codes, min_codes, codes);
}

// scales: 6 bits each, 32 meaning 0.
BlockQ3_K q3_k_of(const float* in, float d, const ScaleCodes& scales, LowCodes& codes) {
  BlockQ3_K block{};
  block.d = float_to_f16_bits(d);
  for (size_t run = 0; run < kLowRuns; ++run) {
    uint8_t& low = block.packed_scales[run % 8];
    uint8_t& high = block.packed_scales[8 + run % 4];
    low = static_cast<uint8_t>(low | ((scales[run] & 15) << (run / 8 * 4)));
    high = static_cast<uint8_t>(high | ((scales[run] >> 4) << (run / 4 * 2)));
  }
  for (size_t run = 0; run < kLowRuns; ++run) {
    const float scale = f16_bits_to_float(block.d) * static_cast<float>(unpack_q3_k_scale(block.packed_scales, static_cast<int>(run)) - 32);
    if (scale == 0) continue;
    for (size_t j = run * kLowRun; j < (run + 1) * kLowRun; ++j) {
      codes[j] = static_cast<uint8_t>(std::clamp(nearest_integer(in[j] / scale), -4, 3) + 4);
    }
  }
  store_low_bits(codes, block.codes);
  for (size_t element = 0; element < kLowSuperBlock; ++element) {
    uint8_t& byte = block.high_bits[element % 32];
    byte = static_cast<uint8_t>(byte | ((codes[element] >> 2) << (element / 32)));
  }
  return block;
}

BlockQ3_K quantize_q3_k(const float* in) {
  LowCodes codes{};
  Scales scales;
  float extreme = 0;
  for (size_t run = 0; run < kLowRuns; ++run) {
    scales[run] = fit_symmetric_stepwise(run_of(in, run), 4, run_of(codes, run));
    if (std::fabs(scales[run]) > std::fabs(extreme)) extreme = scales[run];
  }
  ScaleCodes bits{};
  if (extreme == 0) return q3_k_of(in, 0, bits, codes);
  const float inverse = -32.0f / extreme;
  for (size_t run = 0; run < kLowRuns; ++run) {
    bits[run] = static_cast<uint8_t>(std::clamp(nearest_integer(inverse * scales[run]), -32, 31) + 32);
  }
  return q3_k_of(in, 1 / inverse, bits, codes);
}

BlockQ3_K quantize_weighted_q3_k(const float* in, const float* importance) {
  const float twice_mean_square = 2 * sum_of_squares({in, kLowSuperBlock}) / kLowSuperBlock;
  LowCodes codes{};
  Scales scales;
  Scales run_weights;
  for (size_t run = 0; run < kLowRuns; ++run) {
    const Weights<kLowRun> weights(in + run * kLowRun, importance + run * kLowRun, twice_mean_square);
    run_weights[run] = sum_of(weights.values);
    scales[run] = fit_symmetric(run_of(in, run), weights.values, 4, run_of(codes, run));
  }
  ScaleCodes bits{};
  const float d = fit_symmetric(scales, run_weights, 32, bits);
  return q3_k_of(in, d, bits, codes);
}

BlockQ8_K quantize_q8_k(const float* in) {
  BlockQ8_K block{};
  float extreme = 0;
  for (size_t j = 0; j < kLowSuperBlock; ++j) extreme = std::fabs(in[j]) > std::fabs(extreme) ? in[j] : extreme;
  if (extreme == 0) return block;
  const float inverse = -127.0f / extreme;
  for (size_t j = 0; j < kLowSuperBlock; ++j) {
    block.codes[j] = static_cast<int8_t>(std::clamp(nearest_integer(inverse * in[j]), -128, 127));
    block.sums[j / kLowRun] = static_cast<int16_t>(block.sums[j / kLowRun] + block.codes[j]);
  }
  block.d = 1 / inverse;
  return block;
}

}  // namespace

void unpack_q2_k(const std::byte* blocks, std::span<float> values) {
  unpack_blocks<BlockQ2_K>(blocks, values, [](const BlockQ2_K& block, float* out) {
    const float d = f16_bits_to_float(block.d);
    const float dmin = f16_bits_to_float(block.dmin);
    for (size_t run = 0; run < kLowRuns; ++run) {
      const float scale = d * static_cast<float>(block.scales[run] & 15);
      const float min = dmin * static_cast<float>(block.scales[run] >> 4);
      for (size_t j = run * kLowRun; j < (run + 1) * kLowRun; ++j) {
        out[j] = scale * static_cast<float>((block.codes[byte_of(j)] >> shift_of(j)) & 3) - min;
      }
    }
  });
}

void unpack_q3_k(const std::byte* blocks, std::span<float> values) {
  unpack_blocks<BlockQ3_K>(blocks, values, [](const BlockQ3_K& block, float* out) {
    const float d = f16_bits_to_float(block.d);
    for (size_t run = 0; run < kLowRuns; ++run) {
      const float scale = d * static_cast<float>(unpack_q3_k_scale(block.packed_scales, static_cast<int>(run)) - 32);
      for (size_t j = run * kLowRun; j < (run + 1) * kLowRun; ++j) {
        const int high = (block.high_bits[j % 32] >> (j / 32)) & 1;
        out[j] = scale * static_cast<float>(((block.codes[byte_of(j)] >> shift_of(j)) & 3) + 4 * high - 4);
      }
    }
  });
}

void unpack_q8_k(const std::byte* blocks, std::span<float> values) {
  unpack_blocks<BlockQ8_K>(blocks, values, [](const BlockQ8_K& block, float* out) {
    for (size_t j = 0; j < kLowSuperBlock; ++j) out[j] = block.d * static_cast<float>(block.codes[j]);
  });
}

void pack_q2_k(std::span<const float> values, std::byte* blocks) { pack_blocks<BlockQ2_K>(values, blocks, quantize_q2_k); }
void pack_q3_k(std::span<const float> values, std::byte* blocks) { pack_blocks<BlockQ3_K>(values, blocks, quantize_q3_k); }
void pack_q8_k(std::span<const float> values, std::byte* blocks) { pack_blocks<BlockQ8_K>(values, blocks, quantize_q8_k); }
void pack_weighted_q2_k(std::span<const float> row, std::span<const float> importance, std::byte* blocks) {
  pack_weighted_blocks<BlockQ2_K>(row, importance, blocks, quantize_weighted_q2_k);
}
void pack_weighted_q3_k(std::span<const float> row, std::span<const float> importance, std::byte* blocks) {
  pack_weighted_blocks<BlockQ3_K>(row, importance, blocks, quantize_weighted_q3_k);
}

}  // namespace wick::quant
