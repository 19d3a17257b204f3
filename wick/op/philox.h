// Philox 4x32-10 (Salmon, Moraes, Dror & Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011), and the stream that every device
// takes its random numbers from.
//
// The stream of a seed is a sequence of 32-bit words: words 4b … 4b + 3 are the block philox({b, b >> 32, 0, 0}, {seed, seed >> 32}),
// low halves first. A draw begins at a word `offset` that is a multiple of 4, and the next draw at the first multiple of 4 behind its
// last word. Numbers depend on nothing else: not on the device, the layout or the number of threads.
//
// Uniform numbers in [low, high). f64: element i takes words w0 = offset + 2i and w1 = offset + 2i + 1, and
//   u = ((w1 · 2^32 + w0) >> 11) · 2^-53,  value = fma(u, high - low, low) in f64.
// All other floats: element i takes word w = offset + i. With p = 24 bits for f32, 11 for f16, 8 for bf16, 4 for f8e4m3,
//   u = (w >> (32 - p)) · 2^-p,  value = fma(u, high - low, low) in f32 (high - low rounded to f32 once), rounded to the dtype.
// A value that is not below `high` becomes the largest number of the dtype below it (but not less than low).
// All of it is exact or correctly rounded, so that every device gives the same bits.
//
// Normal numbers by Box & Muller (1958): elements 2j and 2j + 1 are a pair, from the two words (for f64 the two 64-bit numbers, of which
// the upper 53 bits count) that uniform elements 2j and 2j + 1 would take. With a and b those words and p = 32 (53) bits,
//   u1 = (a + 1) · 2^-p in (0, 1],  u2 = b · 2^-p in [0, 1),  r = √(-2 ln u1),
//   z(2j) = r · cos(2π u2),  z(2j + 1) = r · sin(2π u2),  value = mean + deviation · z, rounded to the dtype.
// ln, cos and sin differ between devices, so normals agree to a few units in the last place of f32 (f64).
#pragma once

#include <array>
#include <cstdint>

#include "wick/layout/dtype.h"

namespace wick {

inline constexpr uint32_t kPhiloxMultiplier0 = 0xd2511f53;
inline constexpr uint32_t kPhiloxMultiplier1 = 0xcd9e8d57;
// The key's halves grow by these in each round: the golden ratio and √3 - 1.
inline constexpr uint32_t kPhiloxWeyl0 = 0x9e3779b9;
inline constexpr uint32_t kPhiloxWeyl1 = 0xbb67ae85;
inline constexpr int kPhiloxRounds = 10;

using PhiloxBlock = std::array<uint32_t, 4>;

[[nodiscard]] constexpr PhiloxBlock philox(PhiloxBlock counter, std::array<uint32_t, 2> key) noexcept {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t product0 = static_cast<uint64_t>(kPhiloxMultiplier0) * counter[0];
    const uint64_t product1 = static_cast<uint64_t>(kPhiloxMultiplier1) * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(product0)};
    key[0] += kPhiloxWeyl0;
    key[1] += kPhiloxWeyl1;
  }
  return counter;
}

// Block b of the stream: its words 4b … 4b + 3.
[[nodiscard]] constexpr PhiloxBlock stream_block(uint64_t seed, uint64_t block) noexcept {
  return philox({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), 0, 0},
                {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
}

[[nodiscard]] constexpr uint32_t stream_word(uint64_t seed, uint64_t word) noexcept { return stream_block(seed, word / 4)[word % 4]; }
// The 64-bit number at word `word`, which is even.
[[nodiscard]] constexpr uint64_t stream_pair(uint64_t seed, uint64_t word) noexcept {
  const PhiloxBlock block = stream_block(seed, word / 4);
  return static_cast<uint64_t>(block[word % 4 + 1]) << 32 | block[word % 4];
}

// The words that a draw of so many elements takes, the rest of its last block included.
[[nodiscard]] constexpr uint64_t words_of_draw(DType dtype, int64_t elements) noexcept {
  const uint64_t words = static_cast<uint64_t>(elements) * (dtype == DType::f64 ? 2 : 1);
  return (words + 3) / 4 * 4;
}

// How many bits a uniform number of a float dtype other than f64 has: its significand's.
[[nodiscard]] constexpr int uniform_bits(DType dtype) noexcept {
  switch (dtype) {
    case DType::f16: return 11;
    case DType::bf16: return 8;
    case DType::f8e4m3: return 4;
    default: return 24;
  }
}

}  // namespace wick
