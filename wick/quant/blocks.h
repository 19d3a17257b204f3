// The blocks of the quantized formats as they lie in memory and in files (ggml-common.h defines them; little-endian, no padding).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace wick {

// 32 codes q of 4 bits with one scale d (f16 bits): value = d · (q - 8). Byte j holds codes j (low) and j + 16 (high).
struct BlockQ4_0 {
  static constexpr int kElements = 32;
  uint16_t d;
  uint8_t codes[16];
};

// 32 codes of 8 bits with one scale: value = d · q.
struct BlockQ8_0 {
  static constexpr int kElements = 32;
  uint16_t d;
  int8_t codes[32];
};

// 256 codes of 4 bits in 8 runs of 32, each with a 6-bit scale s and a 6-bit minimum m: value = (d · s) · q - (dmin · m).
// Bytes 32 k … 32 k + 31 hold runs 2 k (low halves) and 2 k + 1 (high halves). packed_scales: see unpack_scale_min().
struct BlockQ4_K {
  static constexpr int kElements = 256;
  uint16_t d;
  uint16_t dmin;
  uint8_t packed_scales[12];
  uint8_t codes[128];
};

// The same with codes of 5 bits: bit r of high_bits[j] is the top bit of code j of run r.
struct BlockQ5_K {
  static constexpr int kElements = 256;
  uint16_t d;
  uint16_t dmin;
  uint8_t packed_scales[12];
  uint8_t high_bits[32];
  uint8_t codes[128];
};

// 256 codes of 6 bits in 16 runs of 16, each with an 8-bit scale s: value = (d · s) · (q - 32). In each half of 128 elements, element
// 32 g + l has its low four bits in low_bits[32 (g % 2) + l], shifted by 4 (g / 2), and its high two in high_bits[l], shifted by 2 g.
struct BlockQ6_K {
  static constexpr int kElements = 256;
  uint8_t low_bits[128];
  uint8_t high_bits[64];
  int8_t scales[16];
  uint16_t d;
};

// 32 codes of 4 bits with a scale and an offset: value = d · q + m. Codes as in Q4_0.
struct BlockQ4_1 {
  static constexpr int kElements = 32;
  uint16_t d;
  uint16_t m;
  uint8_t codes[16];
};

// 32 codes of 5 bits: value = d · (q - 16). Low four bits as in Q4_0; bit j of the 32 in high_bits is the top bit of code j.
struct BlockQ5_0 {
  static constexpr int kElements = 32;
  uint16_t d;
  uint8_t high_bits[4];
  uint8_t codes[16];
};

// The same with an offset: value = d · q + m.
struct BlockQ5_1 {
  static constexpr int kElements = 32;
  uint16_t d;
  uint16_t m;
  uint8_t high_bits[4];
  uint8_t codes[16];
};

// Q8_0 with d · Σ q beside the scale: activations, as ggml's dot products take them.
struct BlockQ8_1 {
  static constexpr int kElements = 32;
  uint16_t d;
  uint16_t sum;
  int8_t codes[32];
};

// 256 codes of 2 bits in 16 runs of 16, each with a 4-bit scale (low half of its byte) and a 4-bit minimum: value = (d · s) · q -
// (dmin · m). In each half of 128 elements, element 32 g + l lies in codes[l] (codes[32 + l] in the second half), shifted by 2 g.
struct BlockQ2_K {
  static constexpr int kElements = 256;
  uint8_t scales[16];
  uint8_t codes[64];
  uint16_t d;
  uint16_t dmin;
};

// 256 codes of 3 bits in 16 runs of 16, each with a 6-bit scale s: value = d · (s - 32) · (q - 4). The low two bits lie as in Q2_K; bit g
// of high_bits[l] is the top bit of element 32 g + l. packed_scales: see unpack_q3_k_scale().
struct BlockQ3_K {
  static constexpr int kElements = 256;
  uint8_t high_bits[32];
  uint8_t codes[64];
  uint8_t packed_scales[12];
  uint16_t d;
};

// 256 codes of 8 bits with an f32 scale, and the sums of 16 codes each: activations, as ggml's dot products take them.
struct BlockQ8_K {
  static constexpr int kElements = 256;
  float d;
  int8_t codes[256];
  int16_t sums[16];
};

// 32 codes of 4 bits that name one of 16 unevenly spaced values (kNonlinearValues): value = d · v[q]. Codes as in Q4_0.
struct BlockIQ4_NL {
  static constexpr int kElements = 32;
  uint16_t d;
  uint8_t codes[16];
};

// 256 of them in 8 runs of 32 with 6-bit scales: value = d · (s - 32) · v[q]. Four bits of run r's scale are in half r % 2 of
// low_scales[r / 2], two in bits 2 r of high_scales. Each run's 16 bytes are as in Q4_0.
struct BlockIQ4_XS {
  static constexpr int kElements = 256;
  uint16_t d;
  uint16_t high_scales;
  uint8_t low_scales[4];
  uint8_t codes[128];
};

// The formats of the codebooks (codebooks.h): eight (four) elements together are one point of a codebook, with signs.
struct BlockIQ2_XXS {
  static constexpr int kElements = 256;
  uint16_t d;
  uint16_t words[32];  // per run of 32: four 8-bit points; 7 bits of signs for each point, and a 4-bit scale on top
};
struct BlockIQ2_XS {
  static constexpr int kElements = 256;
  uint16_t d;
  uint16_t words[32];  // per 8 elements: a 9-bit point, 7 bits of signs
  uint8_t scales[8];   // 4 bits per 16 elements
};
struct BlockIQ2_S {
  static constexpr int kElements = 256;
  uint16_t d;
  uint8_t points[32];  // the low 8 bits of a 10-bit point per 8 elements
  uint8_t signs[32];
  uint8_t high_points[8];  // the high 2 bits of four points
  uint8_t scales[8];       // 4 bits per 16 elements
};
struct BlockIQ3_XXS {
  static constexpr int kElements = 256;
  uint16_t d;
  uint8_t points[64];            // per 4 elements
  uint8_t signs_and_scales[32];  // per run of 32 a word: 7 bits of signs per 8 elements, and a 4-bit scale on top
};
struct BlockIQ3_S {
  static constexpr int kElements = 256;
  uint16_t d;
  uint8_t points[64];      // the low 8 bits of a 9-bit point per 4 elements
  uint8_t high_points[8];  // the top bits of the eight points of a run of 32
  uint8_t signs[32];
  uint8_t scales[4];  // 4 bits per 32 elements
};
struct BlockIQ1_S {
  static constexpr int kElements = 256;
  uint16_t d;
  uint8_t points[32];  // the low 8 bits of an 11-bit point per 8 elements
  uint16_t high[8];    // per run of 32: the high 3 bits of four points, a 3-bit scale, the sign of the shift
};
struct BlockIQ1_M {
  static constexpr int kElements = 256;
  uint8_t points[32];  // as in IQ1_S
  uint8_t high[16];    // per 8 elements a half byte: 3 bits of the point, the sign of the shift
  uint8_t scales[8];   // four words: 3 bits per 16 elements, and in the top four bits of each a quarter of the f16 scale
};

// 256 codes -1, 0, 1 with one scale. Five codes a byte: the byte is ⌈256 c / 243⌉ for the base-3 number c, first digit first. Bytes m
// of 32 hold elements m, m + 32, …, m + 128; then 16 bytes 160 + m, 176 + m …; then 4 bytes four codes each, 240 + m, 244 + m …
struct BlockTQ1_0 {
  static constexpr int kElements = 256;
  uint8_t codes[48];
  uint8_t last_codes[4];
  uint16_t d;
};

// 256 codes 0, 1, 2 for -1, 0, 1 with one scale; in each half of 128, element 32 g + l lies in codes[l], shifted by 2 g.
struct BlockTQ2_0 {
  static constexpr int kElements = 256;
  uint8_t codes[64];
  uint16_t d;
};

// 32 codes of 4 bits, floats of 1 sign, 2 exponent and 1 mantissa bit (OCP Microscaling Formats 1.0), with a power of two.
// value = 2^(exponent - 128) · kFloat4Values[q], the table holding the doubled values. Codes as in Q4_0.
struct BlockMXFP4 {
  static constexpr int kElements = 32;
  uint8_t exponent;
  uint8_t codes[16];
};

// 64 of them in 4 runs of 16, each with an unsigned 8-bit float of 4 exponent and 3 mantissa bits. Byte j of a run's 8 holds codes j
// and j + 8.
struct BlockNVFP4 {
  static constexpr int kElements = 64;
  uint8_t scales[4];
  uint8_t codes[32];
};

// 128 signs with one scale: bit j % 8 of codes[j / 8] is set for +d, clear for -d.
struct BlockQ1_0 {
  static constexpr int kElements = 128;
  uint16_t d;
  uint8_t codes[16];
};

// 64 codes of 2 bits: value = d · (q - 1). Bits 2 (j % 4) of codes[j / 4] hold code j.
struct BlockQ2_0 {
  static constexpr int kElements = 64;
  uint16_t d;
  uint8_t codes[16];
};

static_assert(sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_1) == 20 && sizeof(BlockQ5_0) == 22 && sizeof(BlockQ5_1) == 24);
static_assert(sizeof(BlockQ8_0) == 34 && sizeof(BlockQ8_1) == 36 && sizeof(BlockQ8_K) == 292);
static_assert(sizeof(BlockQ2_K) == 84 && sizeof(BlockQ3_K) == 110);
static_assert(sizeof(BlockQ4_K) == 144 && sizeof(BlockQ5_K) == 176 && sizeof(BlockQ6_K) == 210);
static_assert(sizeof(BlockIQ1_S) == 50 && sizeof(BlockIQ1_M) == 56 && sizeof(BlockIQ2_XXS) == 66 && sizeof(BlockIQ2_XS) == 74);
static_assert(sizeof(BlockIQ2_S) == 82 && sizeof(BlockIQ3_XXS) == 98 && sizeof(BlockIQ3_S) == 110);
static_assert(sizeof(BlockIQ4_NL) == 18 && sizeof(BlockIQ4_XS) == 136 && sizeof(BlockTQ1_0) == 54 && sizeof(BlockTQ2_0) == 66);
static_assert(sizeof(BlockMXFP4) == 17 && sizeof(BlockNVFP4) == 36 && sizeof(BlockQ1_0) == 18 && sizeof(BlockQ2_0) == 18);

// Block `index` of a row; the bytes need no alignment.
template <class Block>
[[nodiscard]] inline Block load_block(const std::byte* blocks, size_t index) noexcept {
  Block block;
  std::memcpy(&block, blocks + index * sizeof(Block), sizeof(Block));
  return block;
}

template <class Block>
inline void store_block(const Block& block, std::byte* blocks, size_t index) noexcept {
  std::memcpy(blocks + index * sizeof(Block), &block, sizeof(Block));
}

struct ScaleMin {
  uint8_t scale;
  uint8_t min;
};

// The 6-bit scale and minimum of run 0 to 7 in the 12 bytes of Q4_K and Q5_K: runs 0 to 3 have the low 6 bits of bytes r and r + 4;
// runs 4 to 7 have their low four bits in the halves of byte r + 4, and their high two on top of bytes r - 4 and r.
[[nodiscard]] constexpr ScaleMin unpack_scale_min(const uint8_t* packed, int run) noexcept {
  if (run < 4) return {static_cast<uint8_t>(packed[run] & 63), static_cast<uint8_t>(packed[run + 4] & 63)};
  return {static_cast<uint8_t>((packed[run + 4] & 15) | ((packed[run - 4] >> 6) << 4)),
          static_cast<uint8_t>((packed[run + 4] >> 4) | ((packed[run] >> 6) << 4))};
}

// The 6-bit scale of run 0 to 15 in the 12 bytes of Q3_K: low four bits in halves of the first 8 bytes, high two in the last 4.
[[nodiscard]] constexpr int unpack_q3_k_scale(const uint8_t* packed, int run) noexcept {
  return ((packed[run % 8] >> (run / 8 * 4)) & 15) | (((packed[8 + run % 4] >> (run / 4 * 2)) & 3) << 4);
}

// The values of IQ4_NL's and IQ4_XS's codes, and of the 4-bit floats of MXFP4 and NVFP4, doubled.
inline constexpr int8_t kNonlinearValues[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
inline constexpr int8_t kFloat4Values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

}  // namespace wick
