// A step of linear attention: columns of a state by vectors, all of its rows one after the other. A row of a convolution, by vectors.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "wick/backend/cpu/simd/recurrent_kernels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "wick/backend/cpu/simd/math-inl.h"
#include "wick/backend/cpu/simd/recurrent_kernels.h"
#include "wick/backend/cpu/simd/select.h"
#include "wick/backend/cpu/simd/simd_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace wick::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Columns [first, first + kVectors · lanes) of the state.
template <bool kDelta, bool kAroundCaches, int kVectors, class D>
HWY_INLINE void step_columns(const RecurrentHead& head, int64_t keys, int64_t values, int64_t first, D d) {
  using V = hn::Vec<D>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const float* before = head.before + first;
  float* after = head.after + first;
  V added[kVectors], result[kVectors];
  for (int v = 0; v < kVectors; ++v) added[v] = hn::LoadU(d, head.value + first + v * lanes);
  if constexpr (kDelta) {
    V held[kVectors];  // under the key
    for (int v = 0; v < kVectors; ++v) held[v] = hn::Zero(d);
    for (int64_t i = 0; i < keys; ++i) {
      const V weight = hn::Set(d, head.decay[i * head.decay_step] * head.key[i]);
      for (int v = 0; v < kVectors; ++v) held[v] = hn::MulAdd(hn::LoadU(d, before + i * values + v * lanes), weight, held[v]);
    }
    for (int v = 0; v < kVectors; ++v) added[v] = hn::Sub(added[v], held[v]);
  }
  const V rate = hn::Set(d, head.rate);
  for (int v = 0; v < kVectors; ++v) {
    added[v] = hn::Mul(added[v], rate);
    result[v] = hn::Zero(d);
  }
  for (int64_t i = 0; i < keys; ++i) {
    const V left = hn::Set(d, head.decay[i * head.decay_step]), key = hn::Set(d, head.key[i]), query = hn::Set(d, head.query[i]);
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = i * values + v * lanes;
      const V changed = hn::MulAdd(key, added[v], hn::Mul(left, hn::LoadU(d, before + at)));
      if constexpr (kAroundCaches) {
        hn::Stream(changed, d, after + at);
      } else {
        hn::StoreU(changed, d, after + at);
      }
      result[v] = hn::MulAdd(changed, query, result[v]);
    }
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(result[v], d, head.result + first + v * lanes);
}

// Columns of the state from `first` on, as long as that many vectors fit.
template <bool kDelta, bool kAroundCaches, int kVectors>
HWY_INLINE int64_t step_vectors(const RecurrentHead& head, int64_t keys, int64_t values, int64_t first) {
  const hn::ScalableTag<float> d;
  const int64_t columns = kVectors * static_cast<int64_t>(hn::Lanes(d));
  for (; first + columns <= values; first += columns) step_columns<kDelta, kAroundCaches, kVectors>(head, keys, values, first, d);
  return first;
}

template <bool kDelta, bool kAroundCaches>
void step_head(const RecurrentHead& head, int64_t keys, int64_t values) {
  // Whole rows, which are contiguous, where registers allow it: AVX-512 has 32.
  constexpr int kMaxVectors = hn::MaxLanes(hn::ScalableTag<float>()) >= 16 ? 8 : 4;
  int64_t first = step_vectors<kDelta, kAroundCaches, kMaxVectors>(head, keys, values, 0);
  first = step_vectors<kDelta, kAroundCaches, 4>(head, keys, values, first);
  first = step_vectors<kDelta, kAroundCaches, 1>(head, keys, values, first);
  for (; first < values; ++first) step_columns<kDelta, false, 1>(head, keys, values, first, hn::CappedTag<float, 1>());
}

template <bool kDelta>
void step(const RecurrentHead& head, int64_t keys, int64_t values) {
  const size_t lanes = hn::Lanes(hn::ScalableTag<float>());
  const bool aligned = static_cast<size_t>(values) % lanes == 0 && reinterpret_cast<uintptr_t>(head.after) % (lanes * sizeof(float)) == 0;
  if (!head.around_caches || !aligned) return step_head<kDelta, false>(head, keys, values);
  step_head<kDelta, true>(head, keys, values);
  hwy::FlushStream();
}

template <class D>
HWY_INLINE void conv_columns(const ConvRow& row, int64_t kernel, int64_t first, D d) {
  auto sum = hn::LoadU(d, row.bias + first);
  for (int64_t tap = 0; tap < kernel; ++tap) {
    sum = hn::MulAdd(hn::LoadU(d, row.weight + tap * row.weight_stride + first), hn::LoadU(d, row.seen[tap] + first), sum);
  }
  hn::StoreU(row.silu ? times_logistic(d, sum, sum) : sum, d, row.result + first);
}

void conv_row(const ConvRow& row, int64_t kernel, int64_t columns) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t first = 0;
  for (; first + lanes <= columns; first += lanes) conv_columns(row, kernel, first, d);
  for (; first < columns; ++first) conv_columns(row, kernel, first, hn::CappedTag<float, 1>());
}

void fill_recurrent(SimdKernels& kernels) { kernels.recurrent = {step<false>, step<true>, conv_row}; }

}  // namespace HWY_NAMESPACE
}  // namespace wick::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick::cpu {

void fill_recurrent_kernels(SimdKernels& kernels) { WICK_CALL_FOR_SET(kernels.set, fill_recurrent, kernels); }

}  // namespace wick::cpu
#endif
