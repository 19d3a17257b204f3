// Q4_0 and Q8_0: blocks of 32 with one scale.
#include <algorithm>
#include <cmath>

#include "wick/base/fail.h"
#include "wick/base/half.h"
#include "wick/quant/blocks.h"
#include "wick/quant/rounding.h"
#include "wick/quant/rows.h"

namespace wick::quant {
void unpack_q4_0(const std::byte* blocks, std::span<float> values) {
  WICK_ASSERT(values.size() % BlockQ4_0::kElements == 0);
  for (size_t index = 0; index * BlockQ4_0::kElements < values.size(); ++index) {
    const auto block = load_block<BlockQ4_0>(blocks, index);
    const float d = f16_bits_to_float(block.d);
    float* out = values.data() + index * BlockQ4_0::kElements;
    for (int j = 0; j < 16; ++j) {
      out[j] = static_cast<float>((block.codes[j] & 15) - 8) * d;
      out[j + 16] = static_cast<float>((block.codes[j] >> 4) - 8) * d;
    }
  }
}

void unpack_q8_0(const std::byte* blocks, std::span<float> values) {
  WICK_ASSERT(values.size() % BlockQ8_0::kElements == 0);
  for (size_t index = 0; index * BlockQ8_0::kElements < values.size(); ++index) {
    const auto block = load_block<BlockQ8_0>(blocks, index);
    const float d = f16_bits_to_float(block.d);
    float* out = values.data() + index * BlockQ8_0::kElements;
    for (int j = 0; j < 32; ++j) out[j] = static_cast<float>(block.codes[j]) * d;
  }
}

void pack_q4_0(std::span<const float> values, std::byte* blocks) {
  WICK_ASSERT(values.size() % BlockQ4_0::kElements == 0);
  for (size_t index = 0; index * BlockQ4_0::kElements < values.size(); ++index) {
    const float* in = values.data() + index * BlockQ4_0::kElements;
    float extreme = 0;  // the value of the largest magnitude: it becomes code 0, which means -8
    for (int j = 0; j < 32; ++j) {
      if (std::fabs(in[j]) > std::fabs(extreme)) extreme = in[j];
    }
    const float d = extreme / -8;
    const float inverse = d != 0 ? 1.0f / d : 0.0f;
    const auto code = [&](float value) { return static_cast<uint8_t>(truncate_to_int(value * inverse + 8.5f, 0, 15)); };
    BlockQ4_0 block;
    block.d = float_to_f16_bits(d);
    for (int j = 0; j < 16; ++j) block.codes[j] = static_cast<uint8_t>(code(in[j]) | (code(in[j + 16]) << 4));
    store_block(block, blocks, index);
  }
}

void pack_q8_0(std::span<const float> values, std::byte* blocks) {
  WICK_ASSERT(values.size() % BlockQ8_0::kElements == 0);
  for (size_t index = 0; index * BlockQ8_0::kElements < values.size(); ++index) {
    const float* in = values.data() + index * BlockQ8_0::kElements;
    float magnitude = 0;
    for (int j = 0; j < 32; ++j) magnitude = std::fabs(in[j]) > magnitude ? std::fabs(in[j]) : magnitude;
    const float d = magnitude / 127;
    const float inverse = d != 0 ? 1.0f / d : 0.0f;
    BlockQ8_0 block;
    block.d = float_to_f16_bits(d);
    for (int j = 0; j < 32; ++j) block.codes[j] = static_cast<int8_t>(truncate_to_int(std::round(in[j] * inverse), -127, 127));
    store_block(block, blocks, index);
  }
}

}  // namespace wick::quant
