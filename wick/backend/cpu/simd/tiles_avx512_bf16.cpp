// Tile kernels for many rows of activations by AVX-512 BF16: each instruction adds 32 products of bf16 into 16 f32 sums. It takes subnormal
// numbers for zero. f16 weights, where that is allowed, are rounded to bf16 on the way; so are the activations.
#include "wick/backend/cpu/simd/round_halves.h"
#include "wick/backend/cpu/simd/simd_kernels.h"

#if defined(__x86_64__)
#include <hwy/base.h>
#include <immintrin.h>

HWY_PUSH_ATTRIBUTES("avx2,fma,f16c,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")
namespace wick::cpu {
namespace {

constexpr int kPanelTokens = 12;
constexpr int64_t kTileRows = 16;
constexpr int64_t kWordBytes = kTileRows * 4;  // of 16 rows, two columns each

HWY_INLINE __m512bh as_pairs(__m512i bits) { return reinterpret_cast<const __m512bh&>(bits); }

// Where the words of a tile's chunk come from: `at` bytes behind its first one. kKeeps: they are written to `kept` for later panels.
struct PairsInPlace {
  static constexpr bool kKeeps = false;
  static HWY_INLINE __m512bh word(const std::byte* tile, std::byte* /*kept*/, int64_t at) {
    return as_pairs(_mm512_loadu_si512(tile + at));
  }
};

// f16, rounded.
struct RoundedPairs {
  static constexpr bool kKeeps = true;
  static HWY_INLINE __m512bh word(const std::byte* tile, std::byte* kept, int64_t at) {
    const __m512i rounded = round_halves(tile + at);
    _mm512_storeu_si512(kept + at, rounded);
    return as_pairs(rounded);
  }
};

template <int kTiles>
struct TileWords {
  const std::byte* tiles[kTiles];
  std::byte* kept[kTiles];
};

// kTiles tiles times the kTokens rows of a panel of activations, whose first 32 columns of the chunk lie at `values`.
template <class Words, int kTiles, int kTokens>
void multiply_panel(const TileWords<kTiles>& tiles, int64_t columns, const bf16* values, const ChunkSums& target) {
  __m512 sums[kTokens][kTiles];
#pragma GCC unroll 16
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 2
    for (int v = 0; v < kTiles; ++v) sums[t][v] = _mm512_setzero_ps();
  }
  int64_t at = 0;
  for (int64_t column = 0; column < columns; column += kActivationBlock, values += kTokens * kActivationBlock) {
#pragma GCC unroll 4
    for (int pair = 0; pair < kActivationBlock / 2; ++pair, at += kWordBytes) {
      __m512bh words[kTiles];
#pragma GCC unroll 2
      for (int v = 0; v < kTiles; ++v) words[v] = Words::word(tiles.tiles[v], tiles.kept[v], at);
#pragma GCC unroll 16
      for (int t = 0; t < kTokens; ++t) {
        int32_t bits = 0;
        __builtin_memcpy(&bits, values + t * kActivationBlock + 2 * pair, sizeof(bits));
        const __m512bh value = as_pairs(_mm512_set1_epi32(bits));
#pragma GCC unroll 2
        for (int v = 0; v < kTiles; ++v) sums[t][v] = _mm512_dpbf16_ps(sums[t][v], words[v], value);
      }
    }
  }
#pragma GCC unroll 16
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 2
    for (int v = 0; v < kTiles; ++v) {
      __m512 sum = sums[t][v];
      if (target.earlier != nullptr) sum = _mm512_add_ps(_mm512_loadu_ps(target.earlier + t * target.earlier_stride + v * kTileRows), sum);
      _mm512_storeu_ps(target.out + t * target.out_stride + v * kTileRows, sum);
    }
  }
}

template <class Words, int kTiles, int kTokens = kPanelTokens>
void multiply_rows(int64_t rows, const TileWords<kTiles>& tiles, int64_t columns, const bf16* values, const ChunkSums& target) {
  if constexpr (kTokens > 1) {
    if (rows < kTokens) return multiply_rows<Words, kTiles, kTokens - 1>(rows, tiles, columns, values, target);
  }
  multiply_panel<Words, kTiles, kTokens>(tiles, columns, values, target);
}

// The first panel takes the words as `First` has them.
template <class First, int kTiles>
void multiply_tiles(const ExpandedTiles& tiles, ColumnChunk chunk, const Activations& x, const ChunkSums& sums) {
  TileWords<kTiles> words{};
  for (int v = 0; v < kTiles; ++v) {
    words.tiles[v] = tiles.data + v * tiles.stride + chunk.first / 2 * kWordBytes;
    if constexpr (First::kKeeps) words.kept[v] = tiles.scratch + v * (chunk.count / 2 * kWordBytes);
  }
  const TokenPanels panels{x.rows, kPanelTokens};
  for (int64_t panel = 0; panel < panels.count; ++panel) {
    const int64_t row = panels.first(panel);
    const int64_t rows = panels.first(panel + 1) - row;
    const bf16* values = x.rounded + row * x.columns + chunk.first * rows;
    if (First::kKeeps && panel == 0) {
      multiply_rows<First>(rows, words, chunk.count, values, sums.from(row, 0));
      for (int v = 0; v < kTiles; ++v) words.tiles[v] = words.kept[v];
    } else {
      multiply_rows<PairsInPlace>(rows, words, chunk.count, values, sums.from(row, 0));
    }
  }
}

template <class First>
void multiply_pairs(const ExpandedTiles& tiles, ColumnChunk chunk, const Activations& x, const ChunkSums& sums) {
  if (tiles.count == 2) return multiply_tiles<First, 2>(tiles, chunk, x, sums);
  multiply_tiles<First, 1>(tiles, chunk, x, sums);
}

void round_row(const float* x, int64_t n, int64_t rows, bf16* rounded) {
  for (int64_t column = 0; column < n; column += kActivationBlock) {
    const __m512bh pairs = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + column + 16), _mm512_loadu_ps(x + column));
    _mm512_storeu_si512(rounded + column * rows, reinterpret_cast<const __m512i&>(pairs));
  }
}

}  // namespace
}  // namespace wick::cpu
HWY_POP_ATTRIBUTES
#endif

namespace wick::cpu {

void fill_tiles_avx512_bf16(SimdKernels& kernels) {
#if defined(__x86_64__)
  if (kernels.product.bf16_pairs.multiply == nullptr) return;
  kernels.round_row = round_row;
  if (!kernels.product.prefers_bf16_pairs) return;
  const ActivationForm form{.kind = ActivationForm::Kind::bf16, .panel_rows = kPanelTokens};
  kernels.tile_kernels(DType::bf16).few_passes = 1;
  kernels.tile_kernels(DType::bf16).many = {.form = form, .multiply = multiply_pairs<PairsInPlace>};
  TileKernels& halves = kernels.tile_kernels(DType::f16);
  halves.fast = {.form = form, .expanded_bytes = kWideActivationBlock / 2 * kWordBytes, .multiply = multiply_pairs<RoundedPairs>};
  halves.fast_rows = halves.few_rows;  // as quickly as the weights stream by
#else
  (void)kernels;
#endif
}

}  // namespace wick::cpu
