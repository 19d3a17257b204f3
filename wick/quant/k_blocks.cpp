// Q4_K, Q5_K and Q6_K: super-blocks of 256 whose runs have scales that are quantized themselves.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "wick/base/fail.h"
#include "wick/base/half.h"
#include "wick/quant/block_loop.h"
#include "wick/quant/rows.h"
#include "wick/quant/scale_search.h"

namespace wick::quant {
namespace {

constexpr int kSuperBlock = 256;
constexpr int kRun = 32;  // of Q4_K and Q5_K
constexpr int kRuns = kSuperBlock / kRun;
constexpr int kSubBlock = 16;  // of Q6_K
constexpr int kSubBlocks = kSuperBlock / kSubBlock;

// The inverse of unpack_scale_min(); the 12 bytes start as zeros.
void store_scale_min(uint8_t* packed, int run, ScaleMin value) {
  if (run < 4) {
    packed[run] = value.scale;
    packed[run + 4] = value.min;
    return;
  }
  packed[run + 4] = static_cast<uint8_t>((value.scale & 15) | ((value.min & 15) << 4));
  packed[run - 4] = static_cast<uint8_t>(packed[run - 4] | ((value.scale >> 4) << 6));
  packed[run] = static_cast<uint8_t>(packed[run] | ((value.min >> 4) << 6));
}

// 6 bits of a run's scale. A negative one, which the least-squares fit can give in odd cases, becomes 63: as in ggml's bytes.
uint8_t six_bits(float value) { return std::min<uint8_t>(63, static_cast<uint8_t>(nearest_integer(value))); }

// What Q4_K and Q5_K share: everything but where the codes' bits go.
struct AffineSuperBlock {
  uint16_t d = 0;
  uint16_t dmin = 0;
  std::array<uint8_t, 12> packed_scales{};
  std::array<uint8_t, kSuperBlock> codes{};
};

// Run r's scale and minimum in 63ths of d and dmin.
struct RunScales {
  float d = 0;
  float dmin = 0;
  std::array<ScaleMin, kRuns> bits{};
};

RunScales round_scales(const std::array<AffineFit, kRuns>& fits) {
  float max_scale = 0;
  float max_min = 0;
  for (const AffineFit& fit : fits) {
    max_scale = fit.scale > max_scale ? fit.scale : max_scale;
    max_min = fit.min > max_min ? fit.min : max_min;
  }
  const float inverse_scale = max_scale > 0 ? 63.0f / max_scale : 0.0f;
  const float inverse_min = max_min > 0 ? 63.0f / max_min : 0.0f;
  RunScales scales{.d = max_scale / 63.0f, .dmin = max_min / 63.0f, .bits = {}};
  for (size_t run = 0; run < kRuns; ++run) {
    scales.bits[run] = {six_bits(inverse_scale * fits[run].scale), six_bits(inverse_min * fits[run].min)};
  }
  return scales;
}

// The same by a search, each run counting as much as its weights.
RunScales search_scales(const std::array<AffineFit, kRuns>& fits, const std::array<float, kRuns>& weights) {
  std::array<float, kRuns> values;
  std::array<uint8_t, kRuns> codes;
  RunScales scales;
  for (size_t run = 0; run < kRuns; ++run) values[run] = fits[run].scale;
  scales.d = fit_positive(values, weights, 63, codes);
  for (size_t run = 0; run < kRuns; ++run) scales.bits[run].scale = std::min<uint8_t>(63, codes[run]);
  for (size_t run = 0; run < kRuns; ++run) values[run] = fits[run].min;
  scales.dmin = fit_positive(values, weights, 63, codes);
  for (size_t run = 0; run < kRuns; ++run) scales.bits[run].min = std::min<uint8_t>(63, codes[run]);
  return scales;
}

// Stores the scales and finds the codes again, against the scales as they are stored.
void finish_affine(const float* values, const RunScales& scales, int max_code, AffineSuperBlock& block) {
  for (size_t run = 0; run < kRuns; ++run) store_scale_min(block.packed_scales.data(), static_cast<int>(run), scales.bits[run]);
  block.d = float_to_f16_bits(scales.d);
  block.dmin = float_to_f16_bits(scales.dmin);
  for (int run = 0; run < kRuns; ++run) {
    const ScaleMin stored = unpack_scale_min(block.packed_scales.data(), run);
    const float scale = f16_bits_to_float(block.d) * static_cast<float>(stored.scale);
    if (scale == 0) continue;
    const float min = f16_bits_to_float(block.dmin) * static_cast<float>(stored.min);
    for (int index = run * kRun; index < (run + 1) * kRun; ++index) {
      block.codes[static_cast<size_t>(index)] =
          static_cast<uint8_t>(std::clamp(nearest_integer((values[index] + min) / scale), 0, max_code));
    }
  }
}

std::span<uint8_t> codes_of(AffineSuperBlock& block, size_t run) { return std::span(block.codes).subspan(run * kRun, kRun); }

AffineSuperBlock quantize_affine(const float* values, const AffineSearch& search) {
  AffineSuperBlock block;
  std::array<AffineFit, kRuns> fits;
  for (size_t run = 0; run < kRuns; ++run) {
    const std::span<const float> in(values + run * kRun, kRun);
    const float root_mean_square = std::sqrt(sum_of_squares(in) / kRun);
    std::array<float, kRun> weights;
    for (size_t index = 0; index < kRun; ++index) weights[index] = root_mean_square + std::fabs(in[index]);
    fits[run] = fit_affine(in, weights, search, codes_of(block, run));
  }
  finish_affine(values, round_scales(fits), search.max_code, block);
  return block;
}

AffineSuperBlock quantize_weighted_affine(const float* values, const float* importance, int max_code) {
  const float twice_mean_square = 2 * sum_of_squares({values, kSuperBlock}) / kSuperBlock;
  AffineSuperBlock block;
  std::array<AffineFit, kRuns> fits;
  std::array<float, kRuns> run_weights;
  for (size_t run = 0; run < kRuns; ++run) {
    const float* in = values + run * kRun;
    const Weights<kRun> weights(in, importance + run * kRun, twice_mean_square);
    run_weights[run] = 0;
    for (const float weight : weights.values) run_weights[run] += weight;
    fits[run] = fit_affine({in, kRun}, weights.values, weighted_affine_search(max_code), codes_of(block, run));
  }
  finish_affine(values, search_scales(fits, run_weights), max_code, block);
  return block;
}

// Byte j of pair p holds the low four bits of code j of runs 2 p and 2 p + 1.
void store_low_bits(const AffineSuperBlock& block, uint8_t* codes) {
  for (size_t pair = 0; pair < kRuns / 2; ++pair) {
    const uint8_t* low = block.codes.data() + pair * 2 * kRun;
    for (size_t j = 0; j < kRun; ++j) codes[pair * kRun + j] = static_cast<uint8_t>((low[j] & 15) | ((low[j + kRun] & 15) << 4));
  }
}

// `code_of(block, run, j)`: code j of a run.
template <class Block, class CodeOf>
void unpack_affine(const std::byte* blocks, std::span<float> values, CodeOf code_of) {
  WICK_ASSERT(values.size() % kSuperBlock == 0);
  for (size_t index = 0; index * kSuperBlock < values.size(); ++index) {
    const auto block = load_block<Block>(blocks, index);
    const float d = f16_bits_to_float(block.d);
    const float dmin = f16_bits_to_float(block.dmin);
    float* out = values.data() + index * kSuperBlock;
    for (int run = 0; run < kRuns; ++run) {
      const ScaleMin stored = unpack_scale_min(block.packed_scales, run);
      const float scale = d * static_cast<float>(stored.scale);
      const float min = dmin * static_cast<float>(stored.min);
      for (int j = 0; j < kRun; ++j) out[run * kRun + j] = scale * static_cast<float>(code_of(block, run, j)) - min;
    }
  }
}

// The low four bits of code j of a run.
template <class Block>
int low_bits(const Block& block, int run, int j) {
  return (block.codes[run / 2 * kRun + j] >> (run % 2 * 4)) & 15;
}

}  // namespace

void unpack_q4_k(const std::byte* blocks, std::span<float> values) {
  unpack_affine<BlockQ4_K>(blocks, values, [](const auto&... code) { return low_bits(code...); });
}

void unpack_q5_k(const std::byte* blocks, std::span<float> values) {
  unpack_affine<BlockQ5_K>(blocks, values, [](const BlockQ5_K& block, int run, int j) {
    return low_bits(block, run, j) | (((block.high_bits[j] >> run) & 1) << 4);
  });
}

void unpack_q6_k(const std::byte* blocks, std::span<float> values) {
  WICK_ASSERT(values.size() % kSuperBlock == 0);
  for (size_t index = 0; index * kSuperBlock < values.size(); ++index) {
    const auto block = load_block<BlockQ6_K>(blocks, index);
    const float d = f16_bits_to_float(block.d);
    for (int group = 0; group < 8; ++group) {  // 32 elements each; the halves of the super-block have four
      const int half = group / 4;
      const int place = group % 4;
      const uint8_t* low = block.low_bits + half * 64 + place % 2 * 32;
      const uint8_t* high = block.high_bits + half * 32;
      float* out = values.data() + index * kSuperBlock + group * 32;
      for (int l = 0; l < 32; ++l) {
        const int code = ((low[l] >> (place / 2 * 4)) & 15) | (((high[l] >> (2 * place)) & 3) << 4);
        const int run = group * 2 + l / kSubBlock;
        out[l] = d * static_cast<float>(block.scales[run]) * static_cast<float>(code - 32);
      }
    }
  }
}

namespace {

BlockQ4_K q4_k_of(const AffineSuperBlock& source) {
  BlockQ4_K block{.d = source.d, .dmin = source.dmin, .packed_scales = {}, .codes = {}};
  std::copy(source.packed_scales.begin(), source.packed_scales.end(), block.packed_scales);
  store_low_bits(source, block.codes);
  return block;
}

BlockQ5_K q5_k_of(const AffineSuperBlock& source) {
  BlockQ5_K block{.d = source.d, .dmin = source.dmin, .packed_scales = {}, .high_bits = {}, .codes = {}};
  std::copy(source.packed_scales.begin(), source.packed_scales.end(), block.packed_scales);
  store_low_bits(source, block.codes);
  for (size_t element = 0; element < kSuperBlock; ++element) {
    uint8_t& high = block.high_bits[element % kRun];
    high = static_cast<uint8_t>(high | ((source.codes[element] >> 4) << (element / kRun)));
  }
  return block;
}

}  // namespace

void pack_q4_k(std::span<const float> values, std::byte* blocks) {
  constexpr AffineSearch kSearch{.max_code = 15, .first_step = -1.0f, .step = 0.1f, .steps = 20, .absolute = false};
  pack_blocks<BlockQ4_K>(values, blocks, [&](const float* in) { return q4_k_of(quantize_affine(in, kSearch)); });
}

void pack_q5_k(std::span<const float> values, std::byte* blocks) {
  constexpr AffineSearch kSearch{.max_code = 31, .first_step = -0.5f, .step = 0.1f, .steps = 15, .absolute = false};
  pack_blocks<BlockQ5_K>(values, blocks, [&](const float* in) { return q5_k_of(quantize_affine(in, kSearch)); });
}

void pack_weighted_q4_k(std::span<const float> row, std::span<const float> importance, std::byte* blocks) {
  pack_weighted_blocks<BlockQ4_K>(row, importance, blocks,
                                  [](const float* in, const float* weights) { return q4_k_of(quantize_weighted_affine(in, weights, 15)); });
}

void pack_weighted_q5_k(std::span<const float> row, std::span<const float> importance, std::byte* blocks) {
  pack_weighted_blocks<BlockQ5_K>(row, importance, blocks,
                                  [](const float* in, const float* weights) { return q5_k_of(quantize_weighted_affine(in, weights, 31)); });
}

namespace {

// importance: the weights of the errors; nullptr for value².
BlockQ6_K quantize_q6_k(const float* values, const float* importance) {
  std::array<uint8_t, kSuperBlock> codes;
  std::array<float, kSubBlocks> scales;
  float extreme = 0;  // the scale of the largest magnitude
  for (size_t run = 0; run < kSubBlocks; ++run) {
    const std::span<const float> weights(importance == nullptr ? nullptr : importance + run * kSubBlock,
                                         importance == nullptr ? 0 : kSubBlock);
    scales[run] = fit_symmetric({values + run * kSubBlock, kSubBlock}, weights, 32, std::span(codes).subspan(run * kSubBlock, kSubBlock));
    if (std::fabs(scales[run]) > std::fabs(extreme)) extreme = scales[run];
  }
  BlockQ6_K block{};
  if (std::fabs(extreme) < kZeroRun) return block;
  const float inverse = -128.0f / extreme;
  block.d = float_to_f16_bits(1 / inverse);
  for (size_t run = 0; run < kSubBlocks; ++run) {
    block.scales[run] = static_cast<int8_t>(std::clamp(nearest_integer(inverse * scales[run]), -128, 127));
    const float scale = f16_bits_to_float(block.d) * static_cast<float>(block.scales[run]);
    if (scale == 0) continue;
    for (size_t element = run * kSubBlock; element < (run + 1) * kSubBlock; ++element) {
      codes[element] = static_cast<uint8_t>(32 + std::clamp(nearest_integer(values[element] / scale), -32, 31));
    }
  }
  for (size_t element = 0; element < kSuperBlock; ++element) {
    const size_t half = element / 128;
    const size_t place = element / 32 % 4;
    const size_t l = element % 32;
    uint8_t& low = block.low_bits[half * 64 + place % 2 * 32 + l];
    uint8_t& high = block.high_bits[half * 32 + l];
    low = static_cast<uint8_t>(low | ((codes[element] & 15) << (place / 2 * 4)));
    high = static_cast<uint8_t>(high | ((codes[element] >> 4) << (2 * place)));
  }
  return block;
}

}  // namespace

void pack_q6_k(std::span<const float> values, std::byte* blocks) {
  pack_blocks<BlockQ6_K>(values, blocks, [](const float* in) { return quantize_q6_k(in, nullptr); });
}

void pack_weighted_q6_k(std::span<const float> row, std::span<const float> importance, std::byte* blocks) {
  pack_weighted_blocks<BlockQ6_K>(row, importance, blocks, quantize_q6_k);
}

}  // namespace wick::quant
