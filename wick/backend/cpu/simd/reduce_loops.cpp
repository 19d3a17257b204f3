// Sums and extremes of contiguous numbers, and of many columns at once.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "wick/backend/cpu/simd/reduce_loops.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>

#include "wick/backend/cpu/simd/loop_ends-inl.h"
#include "wick/backend/cpu/simd/number_loops.h"
#include "wick/backend/cpu/simd/select.h"
#include "wick/backend/cpu/simd/simd_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace wick::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Four vectors of partial sums over at most so many elements, whose lanes are then added in the wide type: f32 sums have at most
// 1024 / 4 / lanes roundings each.
constexpr size_t kSumBlock = 1024;

template <class T>
typename SumOf<T>::Type sum_of_block(const T* x, size_t n) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  auto sum2 = hn::Zero(d);
  auto sum3 = hn::Zero(d);
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    sum0 = hn::Add(sum0, hn::LoadU(d, x + i));
    sum1 = hn::Add(sum1, hn::LoadU(d, x + i + lanes));
    sum2 = hn::Add(sum2, hn::LoadU(d, x + i + 2 * lanes));
    sum3 = hn::Add(sum3, hn::LoadU(d, x + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) sum0 = hn::Add(sum0, hn::LoadU(d, x + i));
  if constexpr (std::is_floating_point_v<T>) {
    if (i < n) sum1 = hn::Add(sum1, load_part(x + i, n - i, T{0}));
    return sum_of_lanes(d, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3)));
  } else {
    HWY_ALIGN T partial[HWY_MAX_BYTES / sizeof(T)];
    hn::Store(hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3)), d, partial);
    uint64_t sum = 0;
    for (size_t lane = 0; lane < lanes; ++lane) sum += static_cast<uint64_t>(partial[lane]);
    for (; i < n; ++i) sum += static_cast<uint64_t>(x[i]);
    return sum;
  }
}

template <class T>
typename SumOf<T>::Type sum(const T* x, size_t n) {
  typename SumOf<T>::Type total = 0;
  for (size_t begin = 0; begin < n; begin += kSumBlock) total += sum_of_block(x + begin, std::min(kSumBlock, n - begin));
  return total;
}

template <class T>
HWY_INLINE bool is_nan(T x) {
  return x != x;
}

// Four vectors of the best so far; whether there is a NaN at all is noted beside them, and it is looked for only then.
template <class T, bool kSmallest>
T extreme(const T* x, size_t n) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  const auto better = [](auto a, auto b) HWY_ATTR { return kSmallest ? hn::Min(a, b) : hn::Max(a, b); };
  const auto take = [d](auto v, auto& nan) HWY_ATTR {
    if constexpr (std::is_floating_point_v<T>) nan = hn::Or(nan, hn::IsNaN(v));
    (void)d, (void)nan;
    return v;
  };
  size_t i = 0;
  T best = x[0];
  bool has_nan = false;
  if (n >= 4 * lanes) {
    auto best0 = hn::LoadU(d, x);
    auto best1 = best0;
    auto best2 = best0;
    auto best3 = best0;
    auto nan = hn::Ne(best0, best0);
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
      const auto a = hn::LoadU(d, x + i);
      const auto b = hn::LoadU(d, x + i + lanes);
      const auto c = hn::LoadU(d, x + i + 2 * lanes);
      const auto e = hn::LoadU(d, x + i + 3 * lanes);
      best0 = better(best0, a);
      best1 = better(best1, b);
      best2 = better(best2, c);
      best3 = better(best3, e);
      if constexpr (std::is_floating_point_v<T>) {
        nan = hn::Or(nan, hn::Or(hn::Or(hn::IsNaN(a), hn::IsNaN(b)), hn::Or(hn::IsNaN(c), hn::IsNaN(e))));
      }
    }
    auto joined = better(better(best0, best1), better(best2, best3));
    for (; i + lanes <= n; i += lanes) joined = better(joined, take(hn::LoadU(d, x + i), nan));
    if (i < n) joined = better(joined, take(hn::LoadU(d, x + n - lanes), nan));  // some elements once more, which changes nothing
    i = n;
    if constexpr (std::is_floating_point_v<T>) {
      has_nan = !hn::AllFalse(d, nan);
      best = hn::GetLane(kSmallest ? hn::MinOfLanes(d, joined) : hn::MaxOfLanes(d, joined));
    } else {
      HWY_ALIGN T lane_best[HWY_MAX_BYTES / sizeof(T)] = {};
      hn::Store(joined, d, lane_best);
      best = lane_best[0];
      for (size_t lane = 1; lane < lanes; ++lane)
        best = (kSmallest ? lane_best[lane] < best : lane_best[lane] > best) ? lane_best[lane] : best;
    }
  }
  for (size_t at = 0; has_nan; ++at) {
    if (is_nan(x[at])) return x[at];
  }
  for (; i < n; ++i) {
    if (is_nan(x[i])) return x[i];
    best = (kSmallest ? x[i] < best : x[i] > best) ? x[i] : best;
  }
  return best;
}

template <class T>
void add_row(const T* HWY_RESTRICT x, T* HWY_RESTRICT sums, size_t n) {
  using Sum =
      std::conditional_t<std::is_floating_point_v<T>, T, std::make_unsigned_t<std::conditional_t<std::is_floating_point_v<T>, int, T>>>;
  for (size_t i = 0; i < n; ++i) sums[i] = static_cast<T>(static_cast<Sum>(sums[i]) + static_cast<Sum>(x[i]));
}

// Better than the best: NaN is better than any number.
template <class T, bool kSmallest>
HWY_INLINE bool beats(T x, T best) {
  const bool further = kSmallest ? x < best : x > best;
  return further || (is_nan(x) && !is_nan(best));
}

template <class T, bool kSmallest>
void extreme_row(const T* HWY_RESTRICT x, T* HWY_RESTRICT best, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const bool further = kSmallest ? x[i] < best[i] : x[i] > best[i];
    best[i] = (further | is_nan(x[i])) ? x[i] : best[i];
  }
}

template <class T, bool kSmallest>
void extreme_place(const T* HWY_RESTRICT x, T* HWY_RESTRICT best, uint32_t* HWY_RESTRICT place, uint32_t number, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const bool wins = beats<T, kSmallest>(x[i], best[i]);
    best[i] = wins ? x[i] : best[i];
    place[i] = wins ? number : place[i];
  }
}

template <class T>
void fill_reduce_of(NumberLoops<T>& loops) {
  loops.sum = sum<T>;
  loops.smallest = extreme<T, true>;
  loops.largest = extreme<T, false>;
  loops.add_row = add_row<T>;
  loops.smallest_row = extreme_row<T, true>;
  loops.largest_row = extreme_row<T, false>;
  loops.smallest_place = extreme_place<T, true>;
  loops.largest_place = extreme_place<T, false>;
}

void fill_reduce(SimdKernels& kernels) {
  kernels.for_each_number([](auto& loops) HWY_ATTR { fill_reduce_of(loops); });
}

}  // namespace HWY_NAMESPACE
}  // namespace wick::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick::cpu {

void fill_reduce_loops(SimdKernels& kernels) { WICK_CALL_FOR_SET(kernels.set, fill_reduce, kernels); }

}  // namespace wick::cpu
#endif
