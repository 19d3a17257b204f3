// bf16 products with AVX-512 BF16: each instruction adds 32 products into 16 f32 sums. It takes subnormal numbers for zero.
#include "wick/backend/cpu/simd/simd_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

// These functions alone are compiled for AVX-512 BF16; nothing of the standard library is instantiated in them.
#define WICK_BF16 __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
#define WICK_BF16_INLINE __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16"), always_inline)) inline
#endif

namespace wick::cpu {

#if defined(__x86_64__)
namespace {

constexpr int kTileRows = 14;
constexpr int kLanes = 16;

struct TileCall {
  int64_t k;
  const uint32_t* a;
  const uint32_t* b;
  int64_t b_stride;
  MatrixView<float> c;
  bool accumulate;
};

WICK_BF16_INLINE __m512bh as_pairs(__m512i bits) { return reinterpret_cast<const __m512bh&>(bits); }

// Rows × two vectors of sums, as product_kernels.cpp has them; lanes outside the result are masked off.
template <int kRows, int kVectors>
WICK_BF16 void multiply_pair_tile(const TileCall& call) {
  __m512 sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_setzero_ps();
  }
  const uint32_t* a = call.a;
  const uint32_t* b = call.b;
  for (int64_t i = 0; i < call.k; ++i, ++a, b += call.b_stride) {
    __m512bh right[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) right[v] = as_pairs(_mm512_loadu_si512(b + v * kLanes));
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const __m512bh left = as_pairs(_mm512_set1_epi32(static_cast<int>(a[r * kProductStride])));
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_dpbf16_ps(sums[r][v], left, right[v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    if (r >= call.c.rows) continue;
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const int64_t left = call.c.columns - v * kLanes;
      const auto mask = static_cast<__mmask16>(left >= kLanes ? 0xffffU : (1U << left) - 1U);
      float* c = call.c.data + r * call.c.stride + v * kLanes;
      const __m512 sum = call.accumulate ? _mm512_add_ps(_mm512_maskz_loadu_ps(mask, c), sums[r][v]) : sums[r][v];
      _mm512_mask_storeu_ps(c, mask, sum);
    }
  }
}

template <int kRows>
void multiply_pair_rows(const TileCall& call) {
  if constexpr (kRows > 2) {
    if (call.c.rows <= kRows - 2) return multiply_pair_rows<kRows - 2>(call);
  }
  if (call.c.columns > kLanes) return multiply_pair_tile<kRows, 2>(call);
  multiply_pair_tile<kRows, 1>(call);
}

void multiply_pairs(const uint32_t* a, const MatrixView<const uint32_t>& b, const MatrixView<float>& c, bool accumulate,
                    ReadAhead* /*ahead*/) {
  multiply_pair_rows<kTileRows>({b.rows, a, b.data, b.stride, c, accumulate});
}

}  // namespace
#endif

void fill_bf16_kernels(SimdKernels& kernels) {
#if defined(__x86_64__)
  // Ice Lake has VNNI without bf16, so the instruction set alone does not tell. Highway has checked the operating system.
  if (!has_avx512_vnni(kernels.set) || !__builtin_cpu_supports("avx512bf16")) return;
  kernels.product.bf16_pairs.rows = kTileRows;
  kernels.product.bf16_pairs.columns = 2 * kLanes;
  kernels.product.bf16_pairs.multiply = multiply_pairs;
  kernels.product.prefers_bf16_pairs = __builtin_cpu_is("amd");
#else
  (void)kernels;
#endif
}

}  // namespace wick::cpu
