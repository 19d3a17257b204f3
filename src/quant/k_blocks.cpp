// Q4_K, Q5_K and Q6_K: super-blocks of 256 whose runs have scales that are quantized themselves.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/half.h"
#include "quant/blocks.h"
#include "quant/rows.h"
#include "quant/scale_search.h"

namespace wick::quant {
namespace {

constexpr int kSuperBlock = 256;
constexpr int kRun = 32;  // of Q4_K and Q5_K
constexpr int kRuns = kSuperBlock / kRun;
constexpr int kSmallRun = 16;  // of Q6_K
constexpr int kSmallRuns = kSuperBlock / kSmallRun;

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

AffineSuperBlock quantize_affine(const float* values, int max_code, float first_step, int steps) {
  AffineSuperBlock block;
  std::array<AffineFit, kRuns> fits;
  float max_scale = 0;
  float max_min = 0;
  for (int run = 0; run < kRuns; ++run) {
    const std::span<const float> in(values + run * kRun, kRun);
    float square_sum = 0;
    for (const float value : in) square_sum += value * value;
    const float root_mean_square = std::sqrt(square_sum / kRun);
    std::array<float, kRun> weights;
    for (size_t index = 0; index < kRun; ++index) weights[index] = root_mean_square + std::fabs(in[index]);
    AffineFit& fit = fits[static_cast<size_t>(run)];
    fit = fit_affine(in, weights, max_code, first_step, steps, std::span(block.codes).subspan(static_cast<size_t>(run) * kRun, kRun));
    max_scale = fit.scale > max_scale ? fit.scale : max_scale;
    max_min = fit.min > max_min ? fit.min : max_min;
  }
  const float inverse_scale = max_scale > 0 ? 63.0f / max_scale : 0.0f;
  const float inverse_min = max_min > 0 ? 63.0f / max_min : 0.0f;
  for (int run = 0; run < kRuns; ++run) {
    const AffineFit& fit = fits[static_cast<size_t>(run)];
    store_scale_min(block.packed_scales.data(), run, {six_bits(inverse_scale * fit.scale), six_bits(inverse_min * fit.min)});
  }
  block.d = float_to_f16_bits(max_scale / 63.0f);
  block.dmin = float_to_f16_bits(max_min / 63.0f);
  // The codes again, against the scales as they are stored.
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
  return block;
}

// Byte j of pair p holds the low four bits of code j of runs 2 p and 2 p + 1.
void store_low_bits(const AffineSuperBlock& block, uint8_t* codes) {
  for (size_t pair = 0; pair < kRuns / 2; ++pair) {
    const uint8_t* low = block.codes.data() + pair * 2 * kRun;
    for (size_t j = 0; j < kRun; ++j) codes[pair * kRun + j] = static_cast<uint8_t>((low[j] & 15) | ((low[j + kRun] & 15) << 4));
  }
}

}  // namespace

void unpack_q4_k(const std::byte* blocks, std::span<float> values) {
  WICK_ASSERT(values.size() % kSuperBlock == 0);
  for (size_t index = 0; index * kSuperBlock < values.size(); ++index) {
    const auto block = load_block<BlockQ4_K>(blocks, index);
    const float d = f16_bits_to_float(block.d);
    const float dmin = f16_bits_to_float(block.dmin);
    float* out = values.data() + index * kSuperBlock;
    for (int run = 0; run < kRuns; ++run) {
      const ScaleMin stored = unpack_scale_min(block.packed_scales, run);
      const float scale = d * static_cast<float>(stored.scale);
      const float min = dmin * static_cast<float>(stored.min);
      const uint8_t* codes = block.codes + run / 2 * kRun;
      const int shift = run % 2 * 4;
      for (int j = 0; j < kRun; ++j) out[run * kRun + j] = scale * static_cast<float>((codes[j] >> shift) & 15) - min;
    }
  }
}

void unpack_q5_k(const std::byte* blocks, std::span<float> values) {
  WICK_ASSERT(values.size() % kSuperBlock == 0);
  for (size_t index = 0; index * kSuperBlock < values.size(); ++index) {
    const auto block = load_block<BlockQ5_K>(blocks, index);
    const float d = f16_bits_to_float(block.d);
    const float dmin = f16_bits_to_float(block.dmin);
    float* out = values.data() + index * kSuperBlock;
    for (int run = 0; run < kRuns; ++run) {
      const ScaleMin stored = unpack_scale_min(block.packed_scales, run);
      const float scale = d * static_cast<float>(stored.scale);
      const float min = dmin * static_cast<float>(stored.min);
      const uint8_t* codes = block.codes + run / 2 * kRun;
      const int shift = run % 2 * 4;
      for (int j = 0; j < kRun; ++j) {
        const int code = ((codes[j] >> shift) & 15) | (((block.high_bits[j] >> run) & 1) << 4);
        out[run * kRun + j] = scale * static_cast<float>(code) - min;
      }
    }
  }
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
        out[l] = d * static_cast<float>(block.scales[group * 2 + l / kSmallRun]) * static_cast<float>(code - 32);
      }
    }
  }
}

void pack_q4_k(std::span<const float> values, std::byte* blocks) {
  WICK_ASSERT(values.size() % kSuperBlock == 0);
  for (size_t index = 0; index * kSuperBlock < values.size(); ++index) {
    const AffineSuperBlock source = quantize_affine(values.data() + index * kSuperBlock, 15, -1.0f, 20);
    BlockQ4_K block{.d = source.d, .dmin = source.dmin, .packed_scales = {}, .codes = {}};
    std::copy(source.packed_scales.begin(), source.packed_scales.end(), block.packed_scales);
    store_low_bits(source, block.codes);
    store_block(block, blocks, index);
  }
}

void pack_q5_k(std::span<const float> values, std::byte* blocks) {
  WICK_ASSERT(values.size() % kSuperBlock == 0);
  for (size_t index = 0; index * kSuperBlock < values.size(); ++index) {
    const AffineSuperBlock source = quantize_affine(values.data() + index * kSuperBlock, 31, -0.5f, 15);
    BlockQ5_K block{.d = source.d, .dmin = source.dmin, .packed_scales = {}, .high_bits = {}, .codes = {}};
    std::copy(source.packed_scales.begin(), source.packed_scales.end(), block.packed_scales);
    store_low_bits(source, block.codes);
    for (size_t element = 0; element < kSuperBlock; ++element) {
      uint8_t& high = block.high_bits[element % kRun];
      high = static_cast<uint8_t>(high | ((source.codes[element] >> 4) << (element / kRun)));
    }
    store_block(block, blocks, index);
  }
}

namespace {

BlockQ6_K quantize_q6_k(const float* values) {
  std::array<uint8_t, kSuperBlock> codes;
  std::array<float, kSmallRuns> scales;
  float extreme = 0;  // the scale of the largest magnitude
  for (size_t run = 0; run < kSmallRuns; ++run) {
    scales[run] = fit_symmetric(std::span(values + run * kSmallRun, kSmallRun), 32, std::span(codes).subspan(run * kSmallRun, kSmallRun));
    if (std::fabs(scales[run]) > std::fabs(extreme)) extreme = scales[run];
  }
  BlockQ6_K block{};
  if (std::fabs(extreme) < kZeroRun) return block;
  const float inverse = -128.0f / extreme;
  block.d = float_to_f16_bits(1 / inverse);
  for (size_t run = 0; run < kSmallRuns; ++run) {
    block.scales[run] = static_cast<int8_t>(std::clamp(nearest_integer(inverse * scales[run]), -128, 127));
    const float scale = f16_bits_to_float(block.d) * static_cast<float>(block.scales[run]);
    if (scale == 0) continue;
    for (size_t element = run * kSmallRun; element < (run + 1) * kSmallRun; ++element) {
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
  WICK_ASSERT(values.size() % kSuperBlock == 0);
  for (size_t index = 0; index * kSuperBlock < values.size(); ++index) {
    store_block(quantize_q6_k(values.data() + index * kSuperBlock), blocks, index);
  }
}

}  // namespace wick::quant
