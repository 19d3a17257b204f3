// Interleaving by AVX-512: four words of 16 rows are four vectors, whose lanes of 16 bytes are transposed side by side.
#include "wick/backend/cpu/simd/simd_kernels.h"

#if defined(__x86_64__)
#include <hwy/base.h>

HWY_PUSH_ATTRIBUTES("avx2,bmi2,avx512f,avx512bw,avx512dq,avx512vl")
namespace wick::cpu {
namespace {

using Quad = uint32_t __attribute__((vector_size(16)));
using Words = uint32_t __attribute__((vector_size(64)));

template <class Vector>
HWY_INLINE Vector load(const std::byte* p) {
  Vector value;
  __builtin_memcpy(&value, p, sizeof(value));
  return value;
}

// Four words of rows r, r + 4, r + 8 and r + 12, a lane each; `rows` is row r.
HWY_INLINE Words load_lanes(const std::byte* rows, int64_t row_bytes) {
  const Quad a = load<Quad>(rows), b = load<Quad>(rows + 4 * row_bytes), c = load<Quad>(rows + 8 * row_bytes),
             d = load<Quad>(rows + 12 * row_bytes);
  const auto low = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
  const auto high = __builtin_shufflevector(c, d, 0, 1, 2, 3, 4, 5, 6, 7);
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

// Word w of the rows 0 to 15 to the tile's words 16 · w …, of rows[r], which holds four words of rows r, r + 4, r + 8 and r + 12.
HWY_INLINE void store_words(const Words (&rows)[4], Words flips, std::byte* tile) {
  const Words low01 = __builtin_shufflevector(rows[0], rows[1], 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
  const Words high01 = __builtin_shufflevector(rows[0], rows[1], 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
  const Words low23 = __builtin_shufflevector(rows[2], rows[3], 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
  const Words high23 = __builtin_shufflevector(rows[2], rows[3], 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
  const Words words[4] = {__builtin_shufflevector(low01, low23, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29) ^ flips,
                          __builtin_shufflevector(low01, low23, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31) ^ flips,
                          __builtin_shufflevector(high01, high23, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29) ^ flips,
                          __builtin_shufflevector(high01, high23, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31) ^ flips};
  __builtin_memcpy(tile, words, sizeof(words));
}

// Sixteen words of each row, a whole line of memory.
HWY_INLINE void gather_lines(const std::byte* rows, int64_t row_bytes, Words flips, std::byte* tile) {
  Words quads[4][4];  // [four words of the line][row % 4]
#pragma GCC unroll 4
  for (int row = 0; row < 4; ++row) {
    const std::byte* line = rows + row * row_bytes;
    const Words a = load<Words>(line), b = load<Words>(line + 4 * row_bytes);
    const Words c = load<Words>(line + 8 * row_bytes), d = load<Words>(line + 12 * row_bytes);
    const Words low_ab = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
    const Words high_ab = __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
    const Words low_cd = __builtin_shufflevector(c, d, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
    const Words high_cd = __builtin_shufflevector(c, d, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
    quads[0][row] = __builtin_shufflevector(low_ab, low_cd, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
    quads[1][row] = __builtin_shufflevector(low_ab, low_cd, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    quads[2][row] = __builtin_shufflevector(high_ab, high_cd, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
    quads[3][row] = __builtin_shufflevector(high_ab, high_cd, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  }
#pragma GCC unroll 4
  for (int quad = 0; quad < 4; ++quad) store_words(quads[quad], flips, tile + quad * 256);
}

// Of rows that lie a multiple of a page apart all lines fall into one set of the first-level cache, half of whose lines are lost before
// their second use. They are copied first, to where they lie apart; the next sixteen rows are asked for meanwhile.
constexpr int64_t kPage = 4096, kPiece = 512;

void gather_pages(const std::byte* rows, int64_t row_bytes, Words flips, std::byte* tile) {
  constexpr int64_t kStride = kPiece + 64;
  alignas(64) std::byte copies[16 * kStride];
  const std::byte* next = rows + 16 * row_bytes;
  for (int64_t at = 0; at < row_bytes; at += kPiece) {
    for (int row = 0; row < 16; ++row) {
#pragma GCC unroll 8
      for (int64_t byte = 0; byte < kPiece; byte += 64) {
        __builtin_prefetch(next + row * kPiece + byte, 0, 2);
        const Words words = load<Words>(rows + row * row_bytes + at + byte);
        __builtin_memcpy(copies + row * kStride + byte, &words, sizeof(words));
      }
    }
    next += 16 * kPiece;
    for (int64_t byte = 0; byte < kPiece; byte += 64) gather_lines(copies + byte, kStride, flips, tile + (at + byte) * 16);
  }
}

void gather_words_avx512(const std::byte* rows, int64_t row_bytes, int64_t count, uint32_t flips, std::byte* tile) {
  const Words mask = Words{} + flips;
  if (row_bytes % kPage == 0 && count * 4 == row_bytes) return gather_pages(rows, row_bytes, mask, tile);
  int64_t index = 0;
  for (; index + 16 <= count; index += 16) gather_lines(rows + index * 4, row_bytes, mask, tile + index * 64);
  for (; index < count; index += 4) {
    const std::byte* from = rows + index * 4;
    store_words({load_lanes(from, row_bytes), load_lanes(from + row_bytes, row_bytes), load_lanes(from + 2 * row_bytes, row_bytes),
                 load_lanes(from + 3 * row_bytes, row_bytes)},
                mask, tile + index * 64);
  }
}

}  // namespace
}  // namespace wick::cpu
HWY_POP_ATTRIBUTES
#endif

namespace wick::cpu {

void fill_interleave_kernels(SimdKernels& kernels) {
#if defined(__x86_64__)
  const bool wide = kernels.set == InstructionSet::avx512 || has_avx512_vnni(kernels.set);
  if (wide) kernels.gather_words = gather_words_avx512;
#else
  (void)kernels;
#endif
}

}  // namespace wick::cpu
