// Softmax, normalisation and rotation of rows of f32 and f64.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "wick/backend/cpu/simd/row_loops.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

#include "wick/backend/cpu/simd/loop_ends-inl.h"
#include "wick/backend/cpu/simd/math-inl.h"
#include "wick/backend/cpu/simd/row_loops.h"
#include "wick/backend/cpu/simd/select.h"
#include "wick/backend/cpu/simd/simd_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace wick::cpu {
namespace HWY_NAMESPACE {

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
using Vector = hn::Vec<Tag<T>>;

// So many elements are summed in vectors; their lanes are then added in f64.
constexpr size_t kBlock = 1024;

template <class T, bool kStore>
double exp_and_sum_of(const T* x, T shift, T* out, size_t n) {
  const Tag<T> d;
  const size_t lanes = hn::Lanes(d);
  const auto offset = hn::Set(d, shift);
  double total = 0;
  size_t i = 0;
  while (i + lanes <= n) {
    const size_t end = std::min(n, i + kBlock);
    auto sum0 = hn::Zero(d);
    auto sum1 = hn::Zero(d);
    for (; i + 2 * lanes <= end; i += 2 * lanes) {
      const auto a = exponential_below(d, hn::Sub(hn::LoadU(d, x + i), offset));
      const auto b = exponential_below(d, hn::Sub(hn::LoadU(d, x + i + lanes), offset));
      if constexpr (kStore) {
        hn::StoreU(a, d, out + i);
        hn::StoreU(b, d, out + i + lanes);
      }
      sum0 = hn::Add(sum0, a);
      sum1 = hn::Add(sum1, b);
    }
    for (; i + lanes <= end; i += lanes) {
      const auto a = exponential_below(d, hn::Sub(hn::LoadU(d, x + i), offset));
      if constexpr (kStore) hn::StoreU(a, d, out + i);
      sum0 = hn::Add(sum0, a);
    }
    total += sum_of_lanes(d, hn::Add(sum0, sum1));
  }
  if (i == n) return total;
  const T nothing = -std::numeric_limits<T>::infinity();
  const auto last = exponential_below(d, hn::Sub(load_part(x + i, n - i, nothing), offset));
  if constexpr (kStore) store_part(last, out + i, n - i);
  return total + sum_of_lanes(d, last);  // e^-∞ is 0
}

template <class T>
double exp_and_sum(const T* x, T shift, T* out, size_t n) {
  return out == nullptr ? exp_and_sum_of<T, false>(x, shift, out, n) : exp_and_sum_of<T, true>(x, shift, out, n);
}

template <class T>
void scale(const T* x, T factor, T* out, size_t n) {
  const Tag<T> d;
  const size_t lanes = hn::Lanes(d);
  const auto f = hn::Set(d, factor);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, x + i), f), d, out + i);
  if (i < n) store_part(hn::Mul(load_part(x + i, n - i, T{0}), f), out + i, n - i);
}

template <class T>
void subtract(const T* x, T first, T second, T* out, size_t n) {
  const Tag<T> d;
  const size_t lanes = hn::Lanes(d);
  const auto a = hn::Set(d, first);
  const auto b = hn::Set(d, second);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Sub(hn::Sub(hn::LoadU(d, x + i), a), b), d, out + i);
  if (i < n) store_part(hn::Sub(hn::Sub(load_part(x + i, n - i, T{0}), a), b), out + i, n - i);
}

template <class T>
double sum_of_squares(const T* x, T shift, size_t n) {
  const Tag<T> d;
  const size_t lanes = hn::Lanes(d);
  const auto offset = hn::Set(d, shift);
  double total = 0;
  size_t i = 0;
  while (i + lanes <= n) {
    const size_t end = std::min(n, i + kBlock);
    auto sum0 = hn::Zero(d);
    auto sum1 = hn::Zero(d);
    for (; i + 2 * lanes <= end; i += 2 * lanes) {
      const auto a = hn::Sub(hn::LoadU(d, x + i), offset);
      const auto b = hn::Sub(hn::LoadU(d, x + i + lanes), offset);
      sum0 = hn::MulAdd(a, a, sum0);
      sum1 = hn::MulAdd(b, b, sum1);
    }
    for (; i + lanes <= end; i += lanes) {
      const auto a = hn::Sub(hn::LoadU(d, x + i), offset);
      sum0 = hn::MulAdd(a, a, sum0);
    }
    total += sum_of_lanes(d, hn::Add(sum0, sum1));
  }
  for (; i < n; ++i) total += static_cast<double>(x[i] - shift) * static_cast<double>(x[i] - shift);
  return total;
}

template <class T>
void normalize(const T* x, const RowNorm<T>& norm, T* out, size_t n) {
  const auto [mean, factor, weight, bias] = norm;
  const Tag<T> d;
  const size_t lanes = hn::Lanes(d);
  const auto m = hn::Set(d, mean);
  const auto f = hn::Set(d, factor);
  size_t i = 0;
  if (bias == nullptr) {
    for (; i + lanes <= n; i += lanes) {
      const auto y = hn::Mul(hn::Sub(hn::LoadU(d, x + i), m), f);
      hn::StoreU(hn::Mul(y, hn::LoadU(d, weight + i)), d, out + i);
    }
    for (; i < n; ++i) out[i] = (x[i] - mean) * factor * weight[i];
    return;
  }
  for (; i + lanes <= n; i += lanes) {
    const auto y = hn::Mul(hn::Sub(hn::LoadU(d, x + i), m), f);
    hn::StoreU(hn::MulAdd(y, hn::LoadU(d, weight + i), hn::LoadU(d, bias + i)), d, out + i);
  }
  for (; i < n; ++i) out[i] = (x[i] - mean) * factor * weight[i] + bias[i];
}

template <class T>
void rotate_neighbours(const T* HWY_RESTRICT x, const T* HWY_RESTRICT cosines, const T* HWY_RESTRICT sines, T* HWY_RESTRICT out,
                       size_t pairs) {
  for (size_t i = 0; i < pairs; ++i) {
    const T a = x[2 * i];
    const T b = x[2 * i + 1];
    out[2 * i] = a * cosines[i] - b * sines[i];
    out[2 * i + 1] = a * sines[i] + b * cosines[i];
  }
}

template <class T>
void rotate_halves(const T* HWY_RESTRICT x, const T* HWY_RESTRICT cosines, const T* HWY_RESTRICT sines, T* HWY_RESTRICT out, size_t pairs) {
  for (size_t i = 0; i < pairs; ++i) {
    const T a = x[i];
    const T b = x[i + pairs];
    out[i] = a * cosines[i] - b * sines[i];
    out[i + pairs] = a * sines[i] + b * cosines[i];
  }
}

template <class T>
void fill_rows_of(RowLoops<T>& loops) {
  loops.exp_and_sum = exp_and_sum<T>;
  loops.scale = scale<T>;
  loops.subtract = subtract<T>;
  loops.sum_of_squares = sum_of_squares<T>;
  loops.normalize = normalize<T>;
  loops.rotate_neighbours = rotate_neighbours<T>;
  loops.rotate_halves = rotate_halves<T>;
}

void fill_rows(SimdKernels& kernels) {
  fill_rows_of(std::get<0>(kernels.row_loops));
  fill_rows_of(std::get<1>(kernels.row_loops));
}

}  // namespace HWY_NAMESPACE
}  // namespace wick::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick::cpu {

void fill_row_loops(SimdKernels& kernels) { WICK_CALL_FOR_SET(kernels.set, fill_rows, kernels); }

}  // namespace wick::cpu
#endif
