// Products of matrices by AMX: of bf16, and of f32 as sums of bf16.
#include <algorithm>

#include "wick/backend/cpu/simd/amx.h"
#include "wick/backend/cpu/simd/simd_kernels.h"

#if defined(__x86_64__)
#include <hwy/base.h>
#include <immintrin.h>

HWY_PUSH_ATTRIBUTES("avx2,fma,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,amx-tile,amx-bf16")
namespace wick::cpu {
namespace {

const std::byte* bytes_of(const void* data) { return static_cast<const std::byte*>(data); }

// --- bf16: a ProductTile of up to 32 rows and columns ---

constexpr int64_t kPairsOfStep = 16;
constexpr int64_t kTileColumns = 16;

struct PairCall {
  const uint32_t* a;
  const uint32_t* b;
  int64_t b_stride;
  MatrixView<float> c;
};

template <bool kTwoRows, bool kTwoColumns>
void multiply_steps(const PairCall& call, int64_t steps, bool accumulate) {
  constexpr auto kWord = int64_t{sizeof(uint32_t)};
  const amx::TilePair sums = amx::sums_at(call.c.data, call.c.stride);
  const int64_t b_step = kPairsOfStep * call.b_stride * kWord;
  amx::load_sums<kTwoRows, kTwoColumns>(accumulate ? sums : amx::TilePair{});
  amx::add_products<kTwoRows, kTwoColumns>(
      {bytes_of(call.a), bytes_of(call.a + (kTwoRows ? amx::kRows * kProductStride : 0)), kProductStride * kWord, amx::kRowBytes,
       amx::kRowBytes},
      {bytes_of(call.b), bytes_of(call.b + (kTwoColumns ? kTileColumns : 0)), call.b_stride * kWord, b_step, b_step}, steps);
  amx::store_sums<kTwoRows, kTwoColumns>(sums);
}

// Steps of `pairs` pairs each, at most kPairsOfStep: of fewer there is one.
void multiply_steps(const PairCall& call, int64_t steps, int64_t pairs, bool accumulate) {
  amx::Shapes shapes;
  const auto part = [](int64_t extent, size_t half) { return std::clamp<int64_t>(extent - static_cast<int64_t>(half) * 16, 0, 16); };
  for (size_t half = 0; half < 2; ++half) {
    const int64_t rows = part(call.c.rows, half);
    for (size_t column = 0; column < 2; ++column) {
      const int64_t columns = part(call.c.columns, column);
      shapes.set(2 * half + column, columns == 0 ? 0 : rows, columns * 4);
    }
    shapes.set(4 + half, rows, pairs * 4);
    const int64_t columns = part(call.c.columns, half);
    shapes.set(6 + half, columns == 0 ? 0 : pairs, columns * 4);
  }
  amx::use(shapes);
  const bool two_columns = call.c.columns > kTileColumns;
  if (call.c.rows > amx::kRows) {
    two_columns ? multiply_steps<true, true>(call, steps, accumulate) : multiply_steps<true, false>(call, steps, accumulate);
  } else {
    two_columns ? multiply_steps<false, true>(call, steps, accumulate) : multiply_steps<false, false>(call, steps, accumulate);
  }
}

void multiply_pairs(const uint32_t* a, const MatrixView<const uint32_t>& b, const MatrixView<float>& c, bool accumulate,
                    ReadAhead* /*ahead*/) {
  const int64_t whole = b.rows / kPairsOfStep;
  const int64_t rest = b.rows % kPairsOfStep;
  const int64_t at = whole * kPairsOfStep;
  if (whole > 0) multiply_steps({a, b.data, b.stride, c}, whole, kPairsOfStep, accumulate);
  if (rest > 0) multiply_steps({a + at, b.row(at), b.stride, c}, 1, rest, accumulate || whole > 0);
  _tile_release();
}

// --- f32 as sums of bf16 ---

template <bool kTwoPanels>
void multiply_panels(int64_t k, const SplitRows& a, const SplitPairs& b, const MatrixView<float>& c, int64_t column, bool accumulate) {
  const amx::TilePair sums = amx::sums_at(c.data + column, c.stride);
  const auto rows_of = [&](const bf16* part) {
    const int64_t stride = a.stride * int64_t{sizeof(bf16)};
    return amx::Factor{bytes_of(part), bytes_of(part + amx::kRows * a.stride), stride, amx::kRowBytes, amx::kRowBytes};
  };
  const auto columns_of = [&](const uint32_t* part) {
    const int64_t stride = b.stride * int64_t{sizeof(uint32_t)};
    const uint32_t* first = part + column / kSplitColumns * b.panel;
    return amx::Factor{bytes_of(first), bytes_of(first + (kTwoPanels ? b.panel : 0)), stride, kSplitDepth / 2 * stride,
                       kSplitDepth / 2 * stride};
  };
  amx::load_sums<true, kTwoPanels>(accumulate ? sums : amx::TilePair{});
  amx::add_products<true, kTwoPanels>(rows_of(a.high), columns_of(b.high), k / kSplitDepth);
  amx::add_products<true, kTwoPanels>(rows_of(a.low), columns_of(b.high), k / kSplitDepth);
  amx::add_products<true, kTwoPanels>(rows_of(a.high), columns_of(b.low), k / kSplitDepth);
  amx::store_sums<true, kTwoPanels>(sums);
}

void multiply(int64_t k, const SplitRows& a, const SplitPairs& b, const MatrixView<float>& c, bool accumulate) {
  static constexpr amx::Shapes kShapes = [] {
    amx::Shapes shapes;
    for (size_t tile = 0; tile < 8; ++tile) shapes.set(tile, amx::kRows);
    return shapes;
  }();
  amx::use(kShapes);
  int64_t column = 0;
  for (; column + 2 * kSplitColumns <= c.columns; column += 2 * kSplitColumns) multiply_panels<true>(k, a, b, c, column, accumulate);
  if (column < c.columns) multiply_panels<false>(k, a, b, c, column, accumulate);
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
