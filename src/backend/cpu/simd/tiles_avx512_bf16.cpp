// Tile kernels for many rows of activations by AVX-512 BF16: each instruction adds 32 products of bf16 into 16 f32 sums. It takes subnormal
// numbers for zero. f16 weights are rounded to bf16 on the way; so are the activations.
#include "backend/cpu/simd/simd_kernels.h"

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
// Half to even. Any f16 but 0 is a normal number as f32.
void round_f16_pairs(const std::byte* tile, ColumnChunk chunk, std::byte* expanded) {
  const std::byte* source = tile + chunk.first / 2 * kWordBytes;
  for (int64_t at = 0; at < chunk.count / 2 * kWordBytes; at += kWordBytes) {
    const auto* halves = reinterpret_cast<const __m256i*>(source + at);
    const __m512bh rounded =
        _mm512_cvtne2ps_pbh(_mm512_cvtph_ps(_mm256_loadu_si256(halves + 1)), _mm512_cvtph_ps(_mm256_loadu_si256(halves)));
    __builtin_memcpy(expanded + at, &rounded, sizeof(rounded));
  }
}

// kTiles tiles times the kTokens rows of a panel of activations, whose first 32 columns of the chunk lie at `values`.
template <int kTiles, int kTokens>
void multiply_panel(const std::byte* const (&tiles)[kTiles], int64_t columns, const bf16* values, bool accumulate, float* out,
                    int64_t out_stride) {
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
      for (int v = 0; v < kTiles; ++v) words[v] = as_pairs(_mm512_loadu_si512(tiles[v] + at));
#pragma GCC unroll 16
      for (int t = 0; t < kTokens; ++t) {
        int32_t bits;
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
      float* target = out + t * out_stride + v * kTileRows;
      _mm512_storeu_ps(target, accumulate ? _mm512_add_ps(_mm512_loadu_ps(target), sums[t][v]) : sums[t][v]);
    }
  }
}

template <int kTiles, int kTokens = kPanelTokens>
void multiply_rows(int64_t rows, const std::byte* const (&tiles)[kTiles], int64_t columns, const bf16* values, bool accumulate, float* out,
                   int64_t out_stride) {
  if constexpr (kTokens > 1) {
    if (rows < kTokens) return multiply_rows<kTiles, kTokens - 1>(rows, tiles, columns, values, accumulate, out, out_stride);
  }
  multiply_panel<kTiles, kTokens>(tiles, columns, values, accumulate, out, out_stride);
}

template <int kTiles>
void multiply_tiles(const std::byte* const (&tiles)[kTiles], ColumnChunk chunk, const Activations& x, bool accumulate, float* out,
                    int64_t out_stride) {
  const TokenPanels panels{x.rows, kPanelTokens};
  for (int64_t panel = 0; panel < panels.count; ++panel) {
    const int64_t row = panels.first(panel);
    const int64_t rows = panels.first(panel + 1) - row;
    multiply_rows<kTiles>(rows, tiles, chunk.count, x.rounded + row * x.columns + chunk.first * rows, accumulate, out + row * out_stride,
                          out_stride);
  }
}

// `skipped`: columns of the chunk that lie before `tiles.data` is to be read.
void multiply_from(const ExpandedTiles& tiles, int64_t skipped, ColumnChunk chunk, const Activations& x, bool accumulate, float* out,
                   int64_t out_stride) {
  const std::byte* first = tiles.data + skipped / 2 * kWordBytes;
  if (tiles.count == 2) return multiply_tiles<2>({first, first + tiles.stride}, chunk, x, accumulate, out, out_stride);
  multiply_tiles<1>({first}, chunk, x, accumulate, out, out_stride);
}

void multiply_expanded_pairs(const ExpandedTiles& tiles, ColumnChunk chunk, const Activations& x, bool accumulate, float* out,
                             int64_t out_stride) {
  multiply_from(tiles, 0, chunk, x, accumulate, out, out_stride);
}

void multiply_pairs_in_place(const ExpandedTiles& tiles, ColumnChunk chunk, const Activations& x, bool accumulate, float* out,
                             int64_t out_stride) {
  multiply_from(tiles, chunk.first, chunk, x, accumulate, out, out_stride);
}

}  // namespace
}  // namespace wick::cpu
HWY_POP_ATTRIBUTES
#endif

namespace wick::cpu {

void fill_tiles_avx512_bf16(SimdKernels& kernels) {
#if defined(__x86_64__)
  if (!kernels.product.prefers_bf16_pairs) return;
  for (const DType dtype : {DType::f16_x16, DType::bf16_x16}) {
    TileKernels& tiles = kernels.tile_kernels(dtype);
    tiles.many_form = {.kind = ActivationForm::Kind::bf16, .panel_rows = kPanelTokens};
    tiles.expanded_bytes = kWideActivationBlock / 2 * kWordBytes;
    tiles.expand = dtype == DType::f16_x16 ? round_f16_pairs : nullptr;
    tiles.multiply_expanded = dtype == DType::f16_x16 ? multiply_expanded_pairs : multiply_pairs_in_place;
  }
#else
  (void)kernels;
#endif
}

}  // namespace wick::cpu
