// IQ1, IQ2 and IQ3: reading blocks whose elements are points of a codebook.
#include <cstring>

#include "wick/base/half.h"
#include "wick/quant/block_loop.h"
#include "wick/quant/codebooks.h"
#include "wick/quant/rows.h"

namespace wick::quant {
namespace {

constexpr auto kGridIQ2_XXS = expand_points<8>(kPointsIQ2_XXS, kMagnitudesIQ2);
constexpr auto kGridIQ2_XS = expand_points<8>(kPointsIQ2_XS, kMagnitudesIQ2);
constexpr auto kGridIQ2_S = expand_points<8>(kPointsIQ2_S, kMagnitudesIQ2);
constexpr auto kGridIQ1 = expand_points<8>(kPointsIQ1, kValuesIQ1);
constexpr auto kGridIQ3_XXS = expand_points<4>(kPointsIQ3_XXS, kMagnitudesIQ3_XXS);
constexpr auto kGridIQ3_S = expand_points<4>(kPointsIQ3_S, kMagnitudesIQ3_S);

template <size_t kLanes>
void write_signed(const std::array<int8_t, kLanes>& point, float scale, uint32_t signs, float* out) {
#pragma GCC unroll 8
  for (size_t lane = 0; lane < kLanes; ++lane) {
    const float magnitude = scale * static_cast<float>(point[lane]);
    out[lane] = (signs >> lane) & 1 ? -magnitude : magnitude;
  }
}

void write_shifted(const std::array<int8_t, 8>& point, float scale, float shift, float* out) {
  for (size_t lane = 0; lane < 8; ++lane) out[lane] = scale * (static_cast<float>(point[lane]) + shift);
}

// The scales of IQ2: four bits s mean (s + 1/2) / 4.
float quarter_scale(float d, uint32_t bits) { return d * (0.5f + static_cast<float>(bits)) * 0.25f; }

float odd_scale(float d, uint32_t bits) { return d * static_cast<float>(2 * bits + 1); }

uint32_t load_word(const void* bytes, size_t index) {
  uint32_t word = 0;
  std::memcpy(&word, static_cast<const std::byte*>(bytes) + index * sizeof(word), sizeof(word));
  return word;
}

}  // namespace

void unpack_iq2_xxs(const std::byte* blocks, std::span<float> values) {
  unpack_blocks<BlockIQ2_XXS>(blocks, values, [](const BlockIQ2_XXS& block, float* out) {
    const float d = f16_bits_to_float(block.d);
    for (size_t run = 0; run < 8; ++run) {
      const uint32_t points = load_word(block.words, 2 * run);
      const uint32_t signs = load_word(block.words, 2 * run + 1);
      const float scale = quarter_scale(d, signs >> 28);
      for (size_t k = 0; k < 4; ++k) {
        write_signed(kGridIQ2_XXS[(points >> (8 * k)) & 255], scale, complete_signs(signs >> (7 * k)), out + run * 32 + k * 8);
      }
    }
  });
}

void unpack_iq2_xs(const std::byte* blocks, std::span<float> values) {
  unpack_blocks<BlockIQ2_XS>(blocks, values, [](const BlockIQ2_XS& block, float* out) {
    const float d = f16_bits_to_float(block.d);
    for (size_t k = 0; k < 32; ++k) {
      const float scale = quarter_scale(d, (block.scales[k / 4] >> (k / 2 % 2 * 4)) & 15u);
      write_signed(kGridIQ2_XS[block.words[k] & 511], scale, complete_signs(block.words[k] >> 9), out + k * 8);
    }
  });
}

void unpack_iq2_s(const std::byte* blocks, std::span<float> values) {
  unpack_blocks<BlockIQ2_S>(blocks, values, [](const BlockIQ2_S& block, float* out) {
    const float d = f16_bits_to_float(block.d);
    for (size_t k = 0; k < 32; ++k) {
      const float scale = quarter_scale(d, (block.scales[k / 4] >> (k / 2 % 2 * 4)) & 15u);
      const size_t high = (block.high_points[k / 4] >> (k % 4 * 2)) & 3u;
      write_signed(kGridIQ2_S[block.points[k] | (high << 8)], scale, block.signs[k], out + k * 8);
    }
  });
}

void unpack_iq3_xxs(const std::byte* blocks, std::span<float> values) {
  unpack_blocks<BlockIQ3_XXS>(blocks, values, [](const BlockIQ3_XXS& block, float* out) {
    const float d = f16_bits_to_float(block.d);
    for (size_t k = 0; k < 64; ++k) {
      const uint32_t word = load_word(block.signs_and_scales, k / 8);
      const float scale = d * (0.5f + static_cast<float>(word >> 28)) * 0.5f;
      const uint32_t signs = complete_signs(word >> (k / 2 % 4 * 7));
      write_signed(kGridIQ3_XXS[block.points[k]], scale, signs >> (k % 2 * 4), out + k * 4);
    }
  });
}

void unpack_iq3_s(const std::byte* blocks, std::span<float> values) {
  unpack_blocks<BlockIQ3_S>(blocks, values, [](const BlockIQ3_S& block, float* out) {
    const float d = f16_bits_to_float(block.d);
    for (size_t k = 0; k < 64; ++k) {
      const float scale = odd_scale(d, (block.scales[k / 16] >> (k / 8 % 2 * 4)) & 15u);
      const size_t high = (block.high_points[k / 8] >> (k % 8)) & 1u;
      const uint32_t signs = block.signs[k / 2];
      write_signed(kGridIQ3_S[block.points[k] | (high << 8)], scale, signs >> (k % 2 * 4), out + k * 4);
    }
  });
}

void unpack_iq1_s(const std::byte* blocks, std::span<float> values) {
  unpack_blocks<BlockIQ1_S>(blocks, values, [](const BlockIQ1_S& block, float* out) {
    const float d = f16_bits_to_float(block.d);
    for (size_t k = 0; k < 32; ++k) {
      const uint32_t high = block.high[k / 4];
      const float shift = high & 0x8000 ? -kShiftIQ1 : kShiftIQ1;
      const size_t point = block.points[k] | (((high >> (k % 4 * 3)) & 7) << 8);
      write_shifted(kGridIQ1[point], odd_scale(d, (high >> 12) & 7), shift, out + k * 8);
    }
  });
}

void unpack_iq1_m(const std::byte* blocks, std::span<float> values) {
  unpack_blocks<BlockIQ1_M>(blocks, values, [](const BlockIQ1_M& block, float* out) {
    uint16_t words[4];
    std::memcpy(words, block.scales, sizeof(words));
    uint16_t d_bits = 0;
    for (int word = 0; word < 4; ++word) d_bits = static_cast<uint16_t>(d_bits | ((words[word] >> 12) << (4 * word)));
    const float d = f16_bits_to_float(d_bits);
    for (size_t k = 0; k < 32; ++k) {
      const uint32_t high = (block.high[k / 2] >> (k % 2 * 4)) & 15u;
      const float scale = odd_scale(d, (words[k / 8] >> (k / 2 % 4 * 3)) & 7u);
      const float shift = high & 8 ? -kShiftIQ1 : kShiftIQ1;
      write_shifted(kGridIQ1[block.points[k] | ((high & 7) << 8)], scale, shift, out + k * 8);
    }
  });
}

}  // namespace wick::quant
