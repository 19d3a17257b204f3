// f32 by way of vectors of f64: what is computed there and rounded once is right to the last place. Included once for each instruction set.
#if defined(WICK_BACKEND_CPU_SIMD_WIDE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKEND_CPU_SIMD_WIDE_INL_H_
#undef WICK_BACKEND_CPU_SIMD_WIDE_INL_H_
#else
#define WICK_BACKEND_CPU_SIMD_WIDE_INL_H_
#endif

#include "wick/backend/cpu/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick::cpu {
namespace HWY_NAMESPACE {

using Wide = hn::ScalableTag<double>;
using WideVector = hn::Vec<Wide>;
using Narrow = hn::Rebind<float, Wide>;

// To f32; Highway's emulation stops at the largest finite number where f64 has more.
HWY_INLINE hn::Vec<Narrow> narrowed(Narrow narrow, WideVector x) {
  if constexpr (HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR) {
    const Wide d;
    HWY_ALIGN double wide[HWY_MAX_BYTES / sizeof(double)] = {};
    HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(double)] = {};
    hn::Store(x, d, wide);
    for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = static_cast<float>(wide[i]);
    return hn::Load(narrow, lanes);
  } else {
    return hn::DemoteTo(narrow, x);
  }
}

// out[i] = f(d, x[i]) by vectors of f64; the tail goes through a vector of its own, so that each element sees the same arithmetic.
template <class F>
HWY_INLINE void map_wide(const float* x, float* out, size_t n, const F& f) {
  const Wide d;
  const Narrow narrow;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(narrowed(narrow, f(d, hn::PromoteTo(d, hn::LoadU(narrow, x + i)))), narrow, out + i);
  if (i == n) return;
  HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)] = {};
  for (size_t j = 0; j < n - i; ++j) buffer[j] = x[i + j];
  hn::Store(narrowed(narrow, f(d, hn::PromoteTo(d, hn::Load(narrow, buffer)))), narrow, buffer);
  for (size_t j = 0; j < n - i; ++j) out[i + j] = buffer[j];
}

}  // namespace HWY_NAMESPACE
}  // namespace wick::cpu
HWY_AFTER_NAMESPACE();

#endif  // the include guard of each instruction set
