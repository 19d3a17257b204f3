// TQ1_0, TQ2_0, Q1_0 and Q2_0: one scale, and codes of two bits or less.
#include <algorithm>
#include <cmath>

#include "wick/base/half.h"
#include "wick/quant/block_loop.h"
#include "wick/quant/rounding.h"
#include "wick/quant/rows.h"

namespace wick::quant {
namespace {

float inverse_of(float d) { return d > 0 ? 1.0f / d : 0.0f; }

// 0, 1, 2 for what rounds to -1, 0, 1.
int ternary_code(float value, float inverse) { return truncate_to_int(std::round(value * inverse), -1, 1) + 1; }

// A byte of TQ1_0 holds digits of base 3 as a fraction of 256, so that multiplying by 3 shifts the next one out at the top.
struct DigitRun {
  size_t begin;     // the first element
  size_t elements;  // that lie between digits of one byte
  int digits;
};
constexpr DigitRun kFullBytes[] = {{0, 32, 5}, {160, 16, 5}};
constexpr DigitRun kLastBytes = {240, 4, 4};

template <DigitRun kRun>
uint8_t pack_digits(const float* in, size_t byte, float inverse) {
  int number = 0;
#pragma GCC unroll 5
  for (int digit = 0; digit < 5; ++digit) {
    const bool present = digit < kRun.digits;
    const size_t at = kRun.begin + byte + static_cast<size_t>(digit) * kRun.elements;
    number = number * 3 + (present ? ternary_code(in[at], inverse) : 0);
  }
  return static_cast<uint8_t>((number * 256 + 242) / 243);
}

// The bytes of a run, as many as it has elements between digits: digit by digit, so that the bytes are a vector.
template <DigitRun kRun>
void unpack_digits(const uint8_t* bytes, float d, float* out) {
  uint8_t power = 1;  // of three, what shifts the digits before out
#pragma GCC unroll 5
  for (int digit = 0; digit < kRun.digits; ++digit, power *= 3) {
    float* values = out + kRun.begin + static_cast<size_t>(digit) * kRun.elements;
    for (size_t byte = 0; byte < kRun.elements; ++byte) {
      const auto rest = static_cast<uint8_t>(bytes[byte] * power);
      const int code = static_cast<uint16_t>(rest * 3) >> 8;
      values[byte] = static_cast<float>(code - 1) * d;
    }
  }
}

BlockTQ1_0 quantize_tq1_0(const float* in) {
  const float d = largest_magnitude(in, 256);
  const float inverse = inverse_of(d);
  BlockTQ1_0 block{};
  block.d = float_to_f16_bits(d);
  for (size_t byte = 0; byte < 32; ++byte) block.codes[byte] = pack_digits<kFullBytes[0]>(in, byte, inverse);
  for (size_t byte = 0; byte < 16; ++byte) block.codes[32 + byte] = pack_digits<kFullBytes[1]>(in, byte, inverse);
  for (size_t byte = 0; byte < 4; ++byte) block.last_codes[byte] = pack_digits<kLastBytes>(in, byte, inverse);
  return block;
}

BlockTQ2_0 quantize_tq2_0(const float* in) {
  const float d = largest_magnitude(in, 256);
  const float inverse = inverse_of(d);
  BlockTQ2_0 block{};
  block.d = float_to_f16_bits(d);
  for (size_t element = 0; element < 256; ++element) {
    uint8_t& byte = block.codes[element / 128 * 32 + element % 32];
    byte = static_cast<uint8_t>(byte | (ternary_code(in[element], inverse) << (element / 32 % 4 * 2)));
  }
  return block;
}

BlockQ1_0 quantize_q1_0(const float* in) {
  float sum = 0;
  for (size_t j = 0; j < 128; ++j) sum += std::fabs(in[j]);
  BlockQ1_0 block{.d = float_to_f16_bits(sum / 128), .codes = {}};
  for (size_t j = 0; j < 128; ++j) block.codes[j / 8] = static_cast<uint8_t>(block.codes[j / 8] | ((in[j] >= 0.0f ? 1 : 0) << (j % 8)));
  return block;
}

BlockQ2_0 quantize_q2_0(const float* in) {
  const float d = largest_magnitude(in, 64);
  const float inverse = inverse_of(d);
  BlockQ2_0 block{.d = float_to_f16_bits(d), .codes = {}};
  for (size_t j = 0; j < 64; ++j) {
    const int code = truncate_to_int(std::round(in[j] * inverse), -1, 2) + 1;
    block.codes[j / 4] = static_cast<uint8_t>(block.codes[j / 4] | (code << (j % 4 * 2)));
  }
  return block;
}

}  // namespace

void unpack_tq1_0(const std::byte* blocks, std::span<float> values) {
  unpack_blocks<BlockTQ1_0>(blocks, values, [](const BlockTQ1_0& block, float* out) {
    const float d = f16_bits_to_float(block.d);
    unpack_digits<kFullBytes[0]>(block.codes, d, out);
    unpack_digits<kFullBytes[1]>(block.codes + 32, d, out);
    unpack_digits<kLastBytes>(block.last_codes, d, out);
  });
}

void unpack_tq2_0(const std::byte* blocks, std::span<float> values) {
  unpack_blocks<BlockTQ2_0>(blocks, values, [](const BlockTQ2_0& block, float* out) {
    const float d = f16_bits_to_float(block.d);
    for (size_t run = 0; run < 8; ++run) {
      for (size_t j = 0; j < 32; ++j) {
        const int code = (block.codes[run / 4 * 32 + j] >> (run % 4 * 2)) & 3;
        out[run * 32 + j] = static_cast<float>(code - 1) * d;
      }
    }
  });
}

void unpack_q1_0(const std::byte* blocks, std::span<float> values) {
  unpack_blocks<BlockQ1_0>(blocks, values, [](const BlockQ1_0& block, float* out) {
    const float d = f16_bits_to_float(block.d);
    for (size_t byte = 0; byte < 16; ++byte) {
#pragma GCC unroll 8
      for (size_t bit = 0; bit < 8; ++bit) out[byte * 8 + bit] = (block.codes[byte] >> bit) & 1 ? d : -d;
    }
  });
}

void unpack_q2_0(const std::byte* blocks, std::span<float> values) {
  unpack_blocks<BlockQ2_0>(blocks, values, [](const BlockQ2_0& block, float* out) {
    const float d = f16_bits_to_float(block.d);
    for (size_t j = 0; j < 64; ++j) out[j] = static_cast<float>(((block.codes[j / 4] >> (j % 4 * 2)) & 3) - 1) * d;
  });
}

void pack_tq1_0(std::span<const float> values, std::byte* blocks) { pack_blocks<BlockTQ1_0>(values, blocks, quantize_tq1_0); }
void pack_tq2_0(std::span<const float> values, std::byte* blocks) { pack_blocks<BlockTQ2_0>(values, blocks, quantize_tq2_0); }
void pack_q1_0(std::span<const float> values, std::byte* blocks) { pack_blocks<BlockQ1_0>(values, blocks, quantize_q1_0); }
void pack_q2_0(std::span<const float> values, std::byte* blocks) { pack_blocks<BlockQ2_0>(values, blocks, quantize_q2_0); }

}  // namespace wick::quant
