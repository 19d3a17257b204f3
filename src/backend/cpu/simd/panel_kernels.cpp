// f32 matrix products: dot products of rows (weights as models store them), row-major products, and the two halves of attention.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/simd/panel_kernels.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "backend/cpu/simd/select.h"
#include "backend/cpu/simd/simd_kernels.h"
#include "base/half.h"

HWY_BEFORE_NAMESPACE();
namespace wick::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Loads weights or cache elements of any of the float formats as f32.
HWY_INLINE V load_wide(const float* p) { return hn::LoadU(D(), p); }
HWY_INLINE V load_wide(const f16* p) {
  const D d;
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
  // Highway's emulated conversion knows no infinity and no NaN of f16.
  HWY_ALIGN float lanes[hn::MaxLanes(d)];
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = static_cast<float>(p[i]);
  return hn::Load(d, lanes);
#else
  const hn::Rebind<hwy::float16_t, D> dh;
  const hn::Rebind<uint16_t, D> du;
  return hn::PromoteTo(d, hn::BitCast(dh, hn::LoadU(du, reinterpret_cast<const uint16_t*>(p))));
#endif
}
HWY_INLINE V load_wide(const bf16* p) {
  const D d;
  const hn::Rebind<uint16_t, D> du;
  const hn::Rebind<uint32_t, D> dw;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(dw, hn::LoadU(du, reinterpret_cast<const uint16_t*>(p)))));
}

// kRows × kTokens dot products of length k, kept in registers.
template <int kRows, int kTokens, class T>
HWY_INLINE void dot_block(const T* weights, int64_t weight_stride, const float* x, int64_t x_stride, int64_t k, float* out,
                          int64_t out_stride) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V sums[kTokens][kRows];
  for (int t = 0; t < kTokens; ++t) {
    for (int r = 0; r < kRows; ++r) sums[t][r] = hn::Zero(d);
  }
  int64_t i = 0;
  for (; i + lanes <= k; i += lanes) {
    V w[kRows];
    for (int r = 0; r < kRows; ++r) w[r] = load_wide(weights + r * weight_stride + i);
    for (int t = 0; t < kTokens; ++t) {
      const V value = hn::LoadU(d, x + t * x_stride + i);
      for (int r = 0; r < kRows; ++r) sums[t][r] = hn::MulAdd(w[r], value, sums[t][r]);
    }
  }
  for (int t = 0; t < kTokens; ++t) {
    for (int r = 0; r < kRows; ++r) {
      float sum = hn::GetLane(hn::SumOfLanes(d, sums[t][r]));
      for (int64_t j = i; j < k; ++j) sum += static_cast<float>(weights[r * weight_stride + j]) * x[t * x_stride + j];
      out[t * out_stride + r] = sum;
    }
  }
}

template <int kRows, class T>
void panel_rows(const T* weights, int64_t weight_stride, const float* x, int64_t x_stride, int64_t tokens, int64_t k, float* out,
                int64_t out_stride) {
  int64_t t = 0;
  for (; t + 4 <= tokens; t += 4)
    dot_block<kRows, 4>(weights, weight_stride, x + t * x_stride, x_stride, k, out + t * out_stride, out_stride);
  for (; t < tokens; ++t) dot_block<kRows, 1>(weights, weight_stride, x + t * x_stride, x_stride, k, out + t * out_stride, out_stride);
}

template <class T>
void panel(const T* weights, int64_t weight_stride, int64_t weight_rows, const float* x, int64_t x_stride, int64_t tokens, int64_t k,
           float* out, int64_t out_stride) {
  switch (weight_rows) {
    case 1: return panel_rows<1>(weights, weight_stride, x, x_stride, tokens, k, out, out_stride);
    case 2: return panel_rows<2>(weights, weight_stride, x, x_stride, tokens, k, out, out_stride);
    case 3: return panel_rows<3>(weights, weight_stride, x, x_stride, tokens, k, out, out_stride);
    default: return panel_rows<4>(weights, weight_stride, x, x_stride, tokens, k, out, out_stride);
  }
}

// c [kRows, kVectors · lanes] (+)= a [kRows, k] · b [k, …], in registers.
template <int kRows, int kVectors>
HWY_INLINE void matrix_block(const float* a, int64_t a_stride, const float* b, int64_t b_stride, float* c, int64_t c_stride, int64_t k,
                             bool accumulate) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sums[r][v] = accumulate ? hn::LoadU(d, c + r * c_stride + v * lanes) : hn::Zero(d);
  }
  for (int64_t i = 0; i < k; ++i) {
    V right[kVectors];
    for (int v = 0; v < kVectors; ++v) right[v] = hn::LoadU(d, b + i * b_stride + v * lanes);
    for (int r = 0; r < kRows; ++r) {
      const V left = hn::Set(d, a[r * a_stride + i]);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(left, right[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[r][v], d, c + r * c_stride + v * lanes);
  }
}

template <int kVectors>
void matrix_columns(const float* a, int64_t a_stride, const float* b, int64_t b_stride, float* c, int64_t c_stride, int64_t m, int64_t k,
                    bool accumulate) {
  int64_t row = 0;
  for (; row + 4 <= m; row += 4) {
    matrix_block<4, kVectors>(a + row * a_stride, a_stride, b, b_stride, c + row * c_stride, c_stride, k, accumulate);
  }
  for (; row < m; ++row) matrix_block<1, kVectors>(a + row * a_stride, a_stride, b, b_stride, c + row * c_stride, c_stride, k, accumulate);
}

void multiply_matrix(const float* a, int64_t a_stride, const float* b, int64_t b_stride, float* c, int64_t c_stride, int64_t m, int64_t n,
                     int64_t k, bool accumulate) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  int64_t column = 0;
  for (; column + 4 * lanes <= n; column += 4 * lanes) {
    matrix_columns<4>(a, a_stride, b + column, b_stride, c + column, c_stride, m, k, accumulate);
  }
  for (; column + lanes <= n; column += lanes) {
    matrix_columns<1>(a, a_stride, b + column, b_stride, c + column, c_stride, m, k, accumulate);
  }
  for (; column < n; ++column) {
    for (int64_t row = 0; row < m; ++row) {
      float sum = accumulate ? c[row * c_stride + column] : 0.0F;
      for (int64_t i = 0; i < k; ++i) sum += a[row * a_stride + i] * b[i * b_stride + column];
      c[row * c_stride + column] = sum;
    }
  }
}

template <int kHeads, class T>
void scores_of(const float* q, int64_t n, const T* keys, int64_t stride, int64_t positions, float* scores, int64_t score_stride) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t position = 0; position < positions; ++position) {
    const T* key = keys + position * stride;
    V sums[kHeads];
    for (int h = 0; h < kHeads; ++h) sums[h] = hn::Zero(d);
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
      const V value = load_wide(key + i);
      for (int h = 0; h < kHeads; ++h) sums[h] = hn::MulAdd(value, hn::LoadU(d, q + h * n + i), sums[h]);
    }
    for (int h = 0; h < kHeads; ++h) {
      float sum = hn::GetLane(hn::SumOfLanes(d, sums[h]));
      for (int64_t j = i; j < n; ++j) sum += static_cast<float>(key[j]) * q[h * n + j];
      scores[h * score_stride + position] = sum;
    }
  }
}

template <int kHeads, class T>
void weighted_sum_of(const float* weights, int64_t weight_stride, int64_t n, const T* values, int64_t stride, int64_t positions,
                     float* out) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    V sums[kHeads];
    for (int h = 0; h < kHeads; ++h) sums[h] = hn::LoadU(d, out + h * n + i);
    for (int64_t position = 0; position < positions; ++position) {
      const V value = load_wide(values + position * stride + i);
      for (int h = 0; h < kHeads; ++h) sums[h] = hn::MulAdd(value, hn::Set(d, weights[h * weight_stride + position]), sums[h]);
    }
    for (int h = 0; h < kHeads; ++h) hn::StoreU(sums[h], d, out + h * n + i);
  }
  for (; i < n; ++i) {
    for (int h = 0; h < kHeads; ++h) {
      for (int64_t position = 0; position < positions; ++position) {
        out[h * n + i] += weights[h * weight_stride + position] * static_cast<float>(values[position * stride + i]);
      }
    }
  }
}

template <class T>
void scores(const float* q, int64_t heads, int64_t n, const T* keys, int64_t stride, int64_t positions, float* out, int64_t score_stride) {
  int64_t head = 0;
  for (; head + 4 <= heads; head += 4) scores_of<4>(q + head * n, n, keys, stride, positions, out + head * score_stride, score_stride);
  for (; head < heads; ++head) scores_of<1>(q + head * n, n, keys, stride, positions, out + head * score_stride, score_stride);
}

template <class T>
void weighted_sum(const float* weights, int64_t weight_stride, int64_t heads, int64_t n, const T* values, int64_t stride, int64_t positions,
                  float* out) {
  int64_t head = 0;
  for (; head + 4 <= heads; head += 4)
    weighted_sum_of<4>(weights + head * weight_stride, weight_stride, n, values, stride, positions, out + head * n);
  for (; head < heads; ++head)
    weighted_sum_of<1>(weights + head * weight_stride, weight_stride, n, values, stride, positions, out + head * n);
}

void fill_panel(SimdKernels& kernels) {
  kernels.panel = panel<float>;
  kernels.panel_f16 = panel<f16>;
  kernels.panel_bf16 = panel<bf16>;
  kernels.multiply_matrix = multiply_matrix;
  kernels.scores_f16 = scores<f16>;
  kernels.scores_f32 = scores<float>;
  kernels.weighted_sum_f16 = weighted_sum<f16>;
  kernels.weighted_sum_f32 = weighted_sum<float>;
}

}  // namespace HWY_NAMESPACE
}  // namespace wick::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick::cpu {

void fill_panel_kernels(SimdKernels& kernels) { WICK_CALL_FOR_SET(kernels.set, fill_panel, kernels); }

}  // namespace wick::cpu
#endif
