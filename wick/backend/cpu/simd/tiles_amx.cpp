// Tile kernels for many rows of activations by AMX: an instruction multiplies 16 rows of activations by 16 rows of weights over 32 columns
// of bf16, which takes 16 cycles. Quantized weights are rounded to bf16 on the way, as the activations are: a scale for every 32 columns
// would cost more after products of integers than products of bf16 cost. An f16 is the sum of two bf16, an activation nearly so: three
// products keep all bits of the one and 16 of the other, and take a third of the time that as many in f32 take. Subnormal bf16 count as
// zero.
#include <algorithm>
#include <array>

#include "wick/backend/cpu/simd/amx.h"
#include "wick/backend/cpu/simd/round_halves.h"
#include "wick/backend/cpu/simd/simd_kernels.h"

#if defined(__x86_64__)
#include <hwy/base.h>
#include <immintrin.h>

HWY_PUSH_ATTRIBUTES("avx2,fma,f16c,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,amx-tile,amx-bf16")
namespace wick::cpu {
namespace {

// A row of a tile register holds 32 columns of a row of activations, two columns of 16 rows of weights, or 16 sums.
using amx::kRowBytes;
using amx::kTileBytes;
constexpr int64_t kTileRows = amx::kRows;
constexpr int64_t kPanelTokens = amx::kRows;
constexpr int64_t kStepColumns = 32;
// Tiles of weights that a pair of panels is multiplied by in turn: their sums stay in the first-level cache, and the activations come from
// the second or third so much less often.
constexpr int64_t kManyTiles = 16;
// Rows of activations that make up for widening quants, beside products of integers (q4_0, two threads, tokens/s: 24 rows 298 of 324, 32
// rows 360 of 341, 64 rows 596 of 424).
constexpr int64_t kBulkRows = 30;
// Columns of the pair of panels, and of two tiles, that are in the first-level cache meanwhile.
constexpr int64_t kStretchColumns = 256;
// Rows of activations for which f16 weights stream by as quickly when they are multiplied in f32.
constexpr int64_t kFewHalfRows = 4;

// The rows of a pair of panels of activations; the second may be empty.
using PairRows = std::array<int64_t, 2>;

// Panels are the rows of a product, tiles of weights its columns.
void use_shapes(const PairRows& rows) {
  amx::Shapes shapes;
  for (size_t panel = 0; panel < 2; ++panel) {
    for (const size_t tile : {2 * panel, 2 * panel + 1, 4 + panel}) shapes.set(tile, rows[panel]);
    shapes.set(6 + panel, kTileRows);
  }
  amx::use(shapes);
}

// Some columns of a pair of panels and of two tiles of weights. to = from + products, or without `from.first` the products alone.
struct Stretch {
  amx::Factor panels;
  amx::Factor tiles;
  int64_t steps;
  amx::TilePair from;
  amx::TilePair to;
};

// The other part of the sums that a factor's numbers are split into; its steps are those of both.
amx::Factor other_part(const amx::Factor& factor) {
  amx::Factor other = factor;
  other.first += factor.first_step / 2;
  other.second += factor.second_step / 2;
  return other;
}

template <int kParts, bool kTwoPanels, bool kTwoTiles>
void multiply_stretch(const Stretch& stretch) {
  amx::load_sums<kTwoPanels, kTwoTiles>(stretch.from);
  if constexpr (kParts == 2) {
    amx::add_products<kTwoPanels, kTwoTiles>(other_part(stretch.panels), stretch.tiles, stretch.steps);
    amx::add_products<kTwoPanels, kTwoTiles>(stretch.panels, other_part(stretch.tiles), stretch.steps);
  }
  amx::add_products<kTwoPanels, kTwoTiles>(stretch.panels, stretch.tiles, stretch.steps);
  amx::store_sums<kTwoPanels, kTwoTiles>(stretch.to);
}

template <int kParts>
void multiply_stretch(const Stretch& stretch, bool two_panels, bool two_tiles) {
  if (two_panels) return two_tiles ? multiply_stretch<kParts, true, true>(stretch) : multiply_stretch<kParts, true, false>(stretch);
  two_tiles ? multiply_stretch<kParts, false, true>(stretch) : multiply_stretch<kParts, false, false>(stretch);
}

// A pair of panels, whose first row is `row`, times the chunk of all tiles, of which the first one's lies at tiles.data. kParts: bf16 that
// make up a number.
template <int kParts>
void multiply_pair(const ExpandedTiles& tiles, ColumnChunk chunk, const Activations& x, int64_t row, const PairRows& rows,
                   const ChunkSums& target) {
  // Between stretches: of two tiles side by side, then of the next two.
  constexpr int64_t kStepBytes = kParts * kTileBytes;
  alignas(64) std::array<float, kManyTiles * 2 * kPanelTokens * kTileRows> kept;
  const auto values = [&](int64_t first_row, int64_t panel_rows, int64_t column) {
    return reinterpret_cast<const std::byte*>(x.rounded + kParts * (first_row * x.columns + (chunk.first + column) * panel_rows));
  };
  for (int64_t column = 0; column < chunk.count; column += kStretchColumns) {
    const int64_t columns = std::min(kStretchColumns, chunk.count - column);
    const bool last = column + columns == chunk.count;
    const amx::Factor panels{values(row, rows[0], column), values(row + rows[0], rows[1], column), kRowBytes, kParts * rows[0] * kRowBytes,
                             kParts * rows[1] * kRowBytes};
    for (int64_t tile = 0; tile < tiles.count; tile += 2) {
      const bool two_tiles = tile + 1 < tiles.count;
      const std::byte* words = tiles.data + tile * tiles.stride + column / kStepColumns * kStepBytes;
      const amx::TilePair between = amx::sums_at(kept.data() + tile * 2 * kPanelTokens * kTileRows, 2 * kTileRows, rows[0]);
      const ChunkSums sums = target.from(0, tile * kTileRows);
      multiply_stretch<kParts>({panels,
                                {words, words + (two_tiles ? tiles.stride : 0), kRowBytes, kStepBytes, kStepBytes},
                                columns / kStepColumns,
                                column == 0 ? amx::sums_at(sums.earlier, sums.earlier_stride, rows[0]) : between,
                                last ? amx::sums_at(sums.out, sums.out_stride, rows[0]) : between},
                               rows[1] > 0, two_tiles);
    }
  }
}

// kInPlace: tiles are pairs of bf16 from their first column on; else of the chunk alone.
template <bool kInPlace, int kParts>
void multiply_pairs(const ExpandedTiles& tiles, ColumnChunk chunk, const Activations& x, const ChunkSums& target) {
  ExpandedTiles columns = tiles;
  if constexpr (kInPlace) columns.data += chunk.first / kStepColumns * kTileBytes;
  const TokenPanels panels{x.rows, kPanelTokens};
  PairRows used{};
  for (int64_t panel = 0; panel < panels.count; panel += 2) {
    const int64_t row = panels.first(panel);
    const int64_t middle = panels.first(panel + 1);
    const PairRows rows{middle - row, panel + 1 < panels.count ? panels.first(panel + 2) - middle : 0};
    if (rows != used) use_shapes(used = rows);
    multiply_pair<kParts>(columns, chunk, x, row, rows, target.from(row, 0));
  }
  _tile_release();
}

// Two columns of 16 rows as pairs.
HWY_INLINE void store_pairs(__m512 first, __m512 second, std::byte* pairs) {
  alignas(64) static constexpr std::array<uint16_t, 32> kTurns = [] {
    std::array<uint16_t, 32> turns{};
    for (size_t i = 0; i < 32; ++i) turns[i] = static_cast<uint16_t>(i / 2 + i % 2 * 16);
    return turns;
  }();
  const __m512bh rounded = _mm512_cvtne2ps_pbh(second, first);
  _mm512_storeu_si512(pairs, _mm512_permutexvar_epi16(_mm512_load_si512(kTurns.data()), reinterpret_cast<const __m512i&>(rounded)));
}

// Of groups that tile_kernels-inl.h expands: `form` tells how they look, and which unsigned quant is zero.
void widen_groups(const std::byte* group, const ActivationForm& form, int64_t columns, std::byte* pairs) {
  constexpr int64_t kRun = 16;  // columns that share a scale and a minimum at least
  const auto scale_shift = __builtin_ctzll(static_cast<unsigned long long>(form.sum_columns));
  const bool has_minima = form.minimum_columns > 0;
  const auto minimum_shift = has_minima ? __builtin_ctzll(static_cast<unsigned long long>(form.minimum_columns)) : 0;
  const __m512i byte_mask = _mm512_set1_epi32(255);
  const __m512 start = _mm512_set1_ps(static_cast<float>(form.start));
  const int64_t quant_bytes = form.columns * kTileRows;
  const int64_t minima_at = quant_bytes + (form.columns >> scale_shift) * kRowBytes;
  const int64_t group_bytes = minima_at + (has_minima ? form.columns >> minimum_shift : 0) * kRowBytes;
  for (int64_t first = 0; first < columns; first += form.columns, group += group_bytes) {
    for (int64_t column = 0; column < form.columns; column += kRun) {
      const __m512 scale = _mm512_loadu_ps(group + quant_bytes + (column >> scale_shift) * kRowBytes);
      const __m512 offset =
          has_minima ? _mm512_sub_ps(_mm512_setzero_ps(), _mm512_loadu_ps(group + minima_at + (column >> minimum_shift) * kRowBytes))
                     : _mm512_mul_ps(scale, start);
#pragma GCC unroll 4
      for (int64_t word = 0; word < kRun / 4; ++word, pairs += 2 * kRowBytes) {
        const __m512i quants = _mm512_loadu_si512(group + column * kTileRows + word * kRowBytes);
        const auto value = [&](__m512i quant) { return _mm512_fmadd_ps(_mm512_cvtepi32_ps(quant), scale, offset); };
        store_pairs(value(_mm512_and_si512(quants, byte_mask)), value(_mm512_and_si512(_mm512_srli_epi32(quants, 8), byte_mask)), pairs);
        store_pairs(value(_mm512_and_si512(_mm512_srli_epi32(quants, 16), byte_mask)), value(_mm512_srli_epi32(quants, 24)),
                    pairs + kRowBytes);
      }
    }
  }
}

// f16 in the order of a tile's words.
void widen_halves(const std::byte* halves, const ActivationForm& /*form*/, int64_t columns, std::byte* pairs) {
  for (int64_t at = 0; at < columns / 2 * kRowBytes; at += kRowBytes) _mm512_storeu_si512(pairs + at, round_halves(halves + at));
}

// The first 16 numbers as bf16 and, in the high half, the next ones; what they lack likewise. An infinity lacks nothing.
struct SplitPairs {
  __m512i parts;
  __m512i rests;
};

HWY_INLINE __m512 rest_of(__m512 value, __m256i part) {
  const __m512 rounded = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(part), 16));
  const __mmask16 finite = _mm512_cmp_ps_mask(_mm512_abs_ps(rounded), _mm512_set1_ps(0x1.fep127F), _CMP_LE_OQ);
  return _mm512_maskz_sub_ps(finite, value, rounded);
}

HWY_INLINE SplitPairs split_values(__m512 first, __m512 second) {
  const __m512bh parts = _mm512_cvtne2ps_pbh(second, first);
  const auto& bits = reinterpret_cast<const __m512i&>(parts);
  const __m512bh rests =
      _mm512_cvtne2ps_pbh(rest_of(second, _mm512_extracti64x4_epi64(bits, 1)), rest_of(first, _mm512_castsi512_si256(bits)));
  return {bits, reinterpret_cast<const __m512i&>(rests)};
}

// The same of f16: a step of words, then what they lack.
void split_halves(const std::byte* halves, const ActivationForm& /*form*/, int64_t columns, std::byte* pairs) {
  for (int64_t step = 0; step < columns / kStepColumns; ++step, pairs += kTileBytes) {
    for (int64_t end = kTileRows; end > 0; --end, halves += kRowBytes, pairs += kRowBytes) {
      const auto* words = reinterpret_cast<const __m256i*>(halves);
      const SplitPairs split = split_values(_mm512_cvtph_ps(_mm256_loadu_si256(words)), _mm512_cvtph_ps(_mm256_loadu_si256(words + 1)));
      _mm512_storeu_si512(pairs, split.parts);
      _mm512_storeu_si512(pairs + kTileBytes, split.rests);
    }
  }
}

void split_row(const float* x, int64_t n, int64_t rows, bf16* parts) {
  for (int64_t column = 0; column < n; column += kStepColumns, parts += 2 * kStepColumns * rows) {
    const SplitPairs split = split_values(_mm512_loadu_ps(x + column), _mm512_loadu_ps(x + column + 16));
    _mm512_storeu_si512(parts, split.parts);
    _mm512_storeu_si512(parts + kStepColumns * rows, split.rests);
  }
}

}  // namespace
}  // namespace wick::cpu
HWY_POP_ATTRIBUTES
#endif

namespace wick::cpu {

void fill_tiles_amx(SimdKernels& kernels) {
#if defined(__x86_64__)
  if (kernels.set != InstructionSet::avx512_amx) return;
  const ManyRows by_amx{.form = {.kind = ActivationForm::Kind::bf16, .panel_rows = kPanelTokens}, .tiles = kManyTiles};
  for (TileKernels& tiles : kernels.tiles) {
    if (tiles.many.form.kind != ActivationForm::Kind::int8 || tiles.multiply == nullptr) continue;
    tiles.bulk_rows = kBulkRows;
    tiles.bulk = by_amx;
    tiles.bulk.expand = tiles.many.expand;
    tiles.bulk.expanded_bytes = tiles.many.expanded_bytes;
    tiles.bulk.widen = widen_groups;
    tiles.bulk.multiply = multiply_pairs<false, 1>;
  }
  TileKernels& halves = kernels.tile_kernels(DType::f16);
  halves.few_rows = halves.fast_rows = kFewHalfRows;
  halves.few_passes = 1;
  halves.fast = halves.many = by_amx;
  halves.fast.widen = widen_halves;
  halves.fast.multiply = multiply_pairs<false, 1>;
  halves.many.form.kind = ActivationForm::Kind::split_bf16;
  halves.many.widen = split_halves;
  halves.many.multiply = multiply_pairs<false, 2>;
  kernels.split_row = split_row;
  kernels.tile_kernels(DType::bf16).few_passes = 1;
  kernels.tile_kernels(DType::bf16).many = by_amx;
  kernels.tile_kernels(DType::bf16).many.multiply = multiply_pairs<true, 1>;
#else
  (void)kernels;
#endif
}

}  // namespace wick::cpu
