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

static_assert(sizeof(BlockQ4_0) == 18 && sizeof(BlockQ8_0) == 34);
static_assert(sizeof(BlockQ4_K) == 144 && sizeof(BlockQ5_K) == 176 && sizeof(BlockQ6_K) == 210);

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

}  // namespace wick
