// The ends of loops over vectors: the last few elements, and the sum of the lanes in f64. Included once for each instruction set.
#if defined(WICK_BACKEND_CPU_SIMD_LOOP_ENDS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKEND_CPU_SIMD_LOOP_ENDS_INL_H_
#undef WICK_BACKEND_CPU_SIMD_LOOP_ENDS_INL_H_
#else
#define WICK_BACKEND_CPU_SIMD_LOOP_ENDS_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace wick::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Whether a masked load or store touches the memory of its own lanes alone.
inline constexpr bool kMasksMemory = HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3;

// The last n < lanes elements of f32 or f64, in a vector filled up with `rest`.
template <class T, class D = hn::ScalableTag<T>>
HWY_INLINE hn::Vec<D> load_part(const T* x, size_t n, T rest) {
  const D d;
  if constexpr (kMasksMemory) {
    const auto mask = hn::FirstN(d, n);
    return hn::IfThenElse(mask, hn::MaskedLoad(mask, d, x), hn::Set(d, rest));
  } else {
    HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(T)] = {};
    for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = i < n ? x[i] : rest;
    return hn::Load(d, lanes);
  }
}

template <class T, class D = hn::ScalableTag<T>>
HWY_INLINE void store_part(hn::Vec<D> v, T* out, size_t n) {
  const D d;
  if constexpr (kMasksMemory) {
    hn::BlendedStore(v, hn::FirstN(d, n), d, out);
  } else {
    HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(T)] = {};
    hn::Store(v, d, lanes);
    for (size_t i = 0; i < n; ++i) out[i] = lanes[i];
  }
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE double sum_of_lanes(D d, V v) {
  if constexpr (HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR) {
    HWY_ALIGN hn::TFromD<D> lanes[HWY_MAX_BYTES / sizeof(hn::TFromD<D>)] = {};
    hn::Store(v, d, lanes);
    double sum = 0;
    for (size_t i = 0; i < hn::Lanes(d); ++i) sum += static_cast<double>(lanes[i]);
    return sum;
  } else if constexpr (sizeof(hn::TFromD<D>) == sizeof(double)) {
    return hn::GetLane(hn::SumOfLanes(d, v));
  } else {
    const hn::ScalableTag<double> wide;
    const hn::Rebind<float, decltype(wide)> half;
    HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(v, d, lanes);
    const auto sum = hn::Add(hn::PromoteTo(wide, hn::Load(half, lanes)), hn::PromoteTo(wide, hn::Load(half, lanes + hn::Lanes(wide))));
    return hn::GetLane(hn::SumOfLanes(wide, sum));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace wick::cpu
HWY_AFTER_NAMESPACE();

#endif  // the include guard of each instruction set
