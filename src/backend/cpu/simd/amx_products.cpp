// Products of matrices by AMX: of bf16, and of f32 as sums of bf16.
#include <algorithm>

#include "backend/cpu/simd/amx.h"
#include "backend/cpu/simd/simd_kernels.h"

#if defined(__x86_64__)
#include <hwy/base.h>
#include <immintrin.h>

HWY_PUSH_ATTRIBUTES("avx2,fma,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,amx-tile,amx-bf16")
namespace wick::cpu {
namespace {

// Registers as in tiles_amx.cpp: sums in 0 to 3, two tiles of rows in 4 and 5, two of columns in 6 and 7.

// --- bf16: a ProductTile of up to 32 rows and columns ---

constexpr int64_t kPairsOfStep = 16;
constexpr int64_t kTileColumns = 16;

struct PairCall {
  const uint32_t* a;
  const uint32_t* b;
  int64_t b_stride;
  float* c;
  int64_t c_stride;
  int64_t rows;
  int64_t columns;
};

template <bool kTwoRows, bool kTwoColumns>
void multiply_steps(const PairCall& call, int64_t steps, bool accumulate) {
  constexpr auto kWord = int64_t{sizeof(uint32_t)};
  constexpr int64_t kStride = kProductStride * kWord;
  const int64_t b_stride = call.b_stride * kWord;
  const int64_t c_stride = call.c_stride * kWord;
  float* second = call.c + amx::kRows * call.c_stride;
  _tile_zero(0);
  if constexpr (kTwoColumns) _tile_zero(1);
  if constexpr (kTwoRows) _tile_zero(2);
  if constexpr (kTwoRows && kTwoColumns) _tile_zero(3);
  if (accumulate) {
    _tile_loadd(0, call.c, c_stride);
    if constexpr (kTwoColumns) _tile_loadd(1, call.c + kTileColumns, c_stride);
    if constexpr (kTwoRows) _tile_loadd(2, second, c_stride);
    if constexpr (kTwoRows && kTwoColumns) _tile_loadd(3, second + kTileColumns, c_stride);
  }
  const uint32_t* a = call.a;
  const uint32_t* b = call.b;
  for (int64_t step = 0; step < steps; ++step, a += kPairsOfStep, b += kPairsOfStep * call.b_stride) {
    _tile_loadd(6, b, b_stride);
    _tile_loadd(4, a, kStride);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kTwoColumns) {
      _tile_loadd(7, b + kTileColumns, b_stride);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (kTwoRows) {
      _tile_loadd(5, a + amx::kRows * kProductStride, kStride);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (kTwoColumns) _tile_dpbf16ps(3, 5, 7);
    }
  }
  _tile_stored(0, call.c, c_stride);
  if constexpr (kTwoColumns) _tile_stored(1, call.c + kTileColumns, c_stride);
  if constexpr (kTwoRows) _tile_stored(2, second, c_stride);
  if constexpr (kTwoRows && kTwoColumns) _tile_stored(3, second + kTileColumns, c_stride);
}

// Steps of `pairs` pairs each, at most kPairsOfStep: of fewer there is one.
void multiply_steps(const PairCall& call, int64_t steps, int64_t pairs, bool accumulate) {
  amx::Shapes shapes;
  const auto part = [](int64_t extent, size_t half) { return std::clamp<int64_t>(extent - static_cast<int64_t>(half) * 16, 0, 16); };
  for (size_t half = 0; half < 2; ++half) {
    const int64_t rows = part(call.rows, half);
    for (size_t column = 0; column < 2; ++column) {
      const int64_t columns = part(call.columns, column);
      shapes.set(2 * half + column, columns == 0 ? 0 : rows, columns * 4);
    }
    shapes.set(4 + half, rows, pairs * 4);
    const int64_t columns = part(call.columns, half);
    shapes.set(6 + half, columns == 0 ? 0 : pairs, columns * 4);
  }
  amx::use(shapes);
  const bool two_columns = call.columns > kTileColumns;
  if (call.rows > amx::kRows) {
    two_columns ? multiply_steps<true, true>(call, steps, accumulate) : multiply_steps<true, false>(call, steps, accumulate);
  } else {
    two_columns ? multiply_steps<false, true>(call, steps, accumulate) : multiply_steps<false, false>(call, steps, accumulate);
  }
}

void multiply_pairs(int64_t k, const uint32_t* a, const uint32_t* b, int64_t b_stride, float* c, int64_t c_stride, int64_t rows,
                    int64_t columns, bool accumulate, ReadAhead* /*ahead*/) {
  asm volatile("" : : : "memory");  // the compiler does not know what tile registers read
  const int64_t whole = k / kPairsOfStep;
  const int64_t rest = k % kPairsOfStep;
  const int64_t at = whole * kPairsOfStep;
  if (whole > 0) multiply_steps({a, b, b_stride, c, c_stride, rows, columns}, whole, kPairsOfStep, accumulate);
  if (rest > 0) multiply_steps({a + at, b + at * b_stride, b_stride, c, c_stride, rows, columns}, 1, rest, accumulate || whole > 0);
  _tile_release();
}

// --- f32 as sums of bf16 ---

constexpr int64_t kStep = 32;  // of a sum

struct Factors {
  const bf16* rows;
  int64_t row_stride;
  const uint32_t* pairs;
  int64_t pair_stride;
  int64_t panel;
};

template <bool kTwoPanels>
HWY_INLINE void add_products(int64_t k, const Factors& f) {
  const int64_t row_bytes = f.row_stride * int64_t{sizeof(bf16)};
  const int64_t pair_bytes = f.pair_stride * int64_t{sizeof(uint32_t)};
  for (int64_t step = 0; step < k; step += kStep) {
    const bf16* rows = f.rows + step;
    const uint32_t* pairs = f.pairs + step / 2 * f.pair_stride;
    _tile_loadd(6, pairs, pair_bytes);
    _tile_loadd(4, rows, row_bytes);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kTwoPanels) {
      _tile_loadd(7, pairs + f.panel, pair_bytes);
      _tile_dpbf16ps(1, 4, 7);
    }
    _tile_loadd(5, rows + amx::kRows * f.row_stride, row_bytes);
    _tile_dpbf16ps(2, 5, 6);
    if constexpr (kTwoPanels) _tile_dpbf16ps(3, 5, 7);
  }
}

template <bool kTwoPanels>
HWY_INLINE void multiply_panels(int64_t k, const SplitRows& a, const SplitPairs& b, int64_t column, float* c, int64_t c_stride,
                                bool accumulate) {
  const int64_t stride = c_stride * int64_t{sizeof(float)};
  float* second = c + amx::kRows * c_stride;
  _tile_zero(0);
  _tile_zero(2);
  if constexpr (kTwoPanels) _tile_zero(1);
  if constexpr (kTwoPanels) _tile_zero(3);
  if (accumulate) {
    _tile_loadd(0, c, stride);
    _tile_loadd(2, second, stride);
    if constexpr (kTwoPanels) _tile_loadd(1, c + kSplitColumns, stride);
    if constexpr (kTwoPanels) _tile_loadd(3, second + kSplitColumns, stride);
  }
  const int64_t at = column / kSplitColumns * b.panel;
  add_products<kTwoPanels>(k, {a.high, a.stride, b.high + at, b.stride, b.panel});
  add_products<kTwoPanels>(k, {a.low, a.stride, b.high + at, b.stride, b.panel});
  add_products<kTwoPanels>(k, {a.high, a.stride, b.low + at, b.stride, b.panel});
  _tile_stored(0, c, stride);
  _tile_stored(2, second, stride);
  if constexpr (kTwoPanels) _tile_stored(1, c + kSplitColumns, stride);
  if constexpr (kTwoPanels) _tile_stored(3, second + kSplitColumns, stride);
}

void multiply(int64_t k, const SplitRows& a, const SplitPairs& b, float* c, int64_t c_stride, int64_t columns, bool accumulate) {
  asm volatile("" : : : "memory");  // the compiler does not know what tile registers read
  static constexpr amx::Shapes kShapes = [] {
    amx::Shapes shapes;
    for (size_t tile = 0; tile < 8; ++tile) shapes.set(tile, amx::kRows);
    return shapes;
  }();
  amx::use(kShapes);
  int64_t column = 0;
  for (; column + 2 * kSplitColumns <= columns; column += 2 * kSplitColumns)
    multiply_panels<true>(k, a, b, column, c + column, c_stride, accumulate);
  if (column < columns) multiply_panels<false>(k, a, b, column, c + column, c_stride, accumulate);
  _tile_release();
}

bool split(const float* x, int64_t n, bf16* high, bf16* low) {
  const __m512 largest = _mm512_set1_ps(0x1.fep127F);  // of bf16
  __mmask16 all_finite = 0xffff;
  for (int64_t i = 0; i < n; i += 16) {
    const auto mask = static_cast<__mmask16>(n - i >= 16 ? 0xffffU : (1U << (n - i)) - 1U);
    const __m512 value = _mm512_maskz_loadu_ps(mask, x + i);
    all_finite &= _mm512_cmp_ps_mask(_mm512_abs_ps(value), largest, _CMP_LE_OQ);
    const __m256bh high_bits = _mm512_cvtneps_pbh(value);
    const __m512i wide = _mm512_slli_epi32(_mm512_cvtepu16_epi32(reinterpret_cast<const __m256i&>(high_bits)), 16);
    const __m256bh low_bits = _mm512_cvtneps_pbh(_mm512_sub_ps(value, _mm512_castsi512_ps(wide)));
    _mm256_mask_storeu_epi16(high + i, mask, reinterpret_cast<const __m256i&>(high_bits));
    _mm256_mask_storeu_epi16(low + i, mask, reinterpret_cast<const __m256i&>(low_bits));
  }
  return all_finite == 0xffff;
}

}  // namespace
}  // namespace wick::cpu
HWY_POP_ATTRIBUTES
#endif

namespace wick::cpu {

void fill_amx_products(SimdKernels& kernels) {
#if defined(__x86_64__)
  if (kernels.set != InstructionSet::avx512_amx) return;
  kernels.product.split = {split, multiply};
  kernels.product.bf16_pairs.rows = 2 * amx::kRows;
  kernels.product.bf16_pairs.columns = 2 * kTileColumns;
  kernels.product.bf16_pairs.multiply = multiply_pairs;
  kernels.product.prefers_bf16_pairs = true;
#else
  (void)kernels;
#endif
}

}  // namespace wick::cpu
