// f32 matrix products as dot products of rows: weights as models store them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "wick/backend/cpu/simd/panel_kernels.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "wick/backend/cpu/simd/select.h"
#include "wick/backend/cpu/simd/simd_kernels.h"
#include "wick/backend/cpu/simd/wide_loads-inl.h"
#include "wick/base/half.h"

HWY_BEFORE_NAMESPACE();
namespace wick::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// kRows × kTokens dot products of length k, kept in registers.
template <int kRows, int kTokens, class T>
HWY_INLINE void dot_block(const MatrixView<const T>& weights, const float* x, int64_t x_stride, float* out, int64_t out_stride) {
  const D d;
  const T* const first = weights.data;
  const int64_t weight_stride = weights.stride, k = weights.columns;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V sums[kTokens][kRows];
  for (int t = 0; t < kTokens; ++t) {
    for (int r = 0; r < kRows; ++r) sums[t][r] = hn::Zero(d);
  }
  int64_t i = 0;
  for (; i + lanes <= k; i += lanes) {
    V w[kRows];
    for (int r = 0; r < kRows; ++r) w[r] = load_wide(first + r * weight_stride + i);
    for (int t = 0; t < kTokens; ++t) {
      const V value = hn::LoadU(d, x + t * x_stride + i);
      for (int r = 0; r < kRows; ++r) sums[t][r] = hn::MulAdd(w[r], value, sums[t][r]);
    }
  }
  for (int t = 0; t < kTokens; ++t) {
    for (int r = 0; r < kRows; ++r) {
      float sum = hn::GetLane(hn::SumOfLanes(d, sums[t][r]));
      for (int64_t j = i; j < k; ++j) sum += static_cast<float>(first[r * weight_stride + j]) * x[t * x_stride + j];
      out[t * out_stride + r] = sum;
    }
  }
}

template <int kRows, class T>
void panel_rows(const MatrixView<const T>& weights, const MatrixView<const float>& x, const MatrixView<float>& out) {
  int64_t t = 0;
  for (; t + 4 <= x.rows; t += 4) dot_block<kRows, 4>(weights, x.row(t), x.stride, out.row(t), out.stride);
  for (; t < x.rows; ++t) dot_block<kRows, 1>(weights, x.row(t), x.stride, out.row(t), out.stride);
}

template <class T>
void panel(const MatrixView<const T>& weights, const MatrixView<const float>& x, const MatrixView<float>& out) {
  switch (weights.rows) {
    case 1: return panel_rows<1>(weights, x, out);
    case 2: return panel_rows<2>(weights, x, out);
    case 3: return panel_rows<3>(weights, x, out);
    default: return panel_rows<4>(weights, x, out);
  }
}

void fill_panel(SimdKernels& kernels) {
  kernels.panel = panel<float>;
  kernels.panel_f16 = panel<f16>;
  kernels.panel_bf16 = panel<bf16>;
}

}  // namespace HWY_NAMESPACE
}  // namespace wick::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick::cpu {

void fill_panel_kernels(SimdKernels& kernels) { WICK_CALL_FOR_SET(kernels.set, fill_panel, kernels); }

}  // namespace wick::cpu
#endif
