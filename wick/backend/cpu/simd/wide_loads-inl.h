// Vectors of f32 from memory of any of the float formats. Included once for each instruction set.
#if defined(WICK_BACKEND_CPU_SIMD_WIDE_LOADS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKEND_CPU_SIMD_WIDE_LOADS_INL_H_
#undef WICK_BACKEND_CPU_SIMD_WIDE_LOADS_INL_H_
#else
#define WICK_BACKEND_CPU_SIMD_WIDE_LOADS_INL_H_
#endif

#include <hwy/highway.h>

#include "wick/base/half.h"

HWY_BEFORE_NAMESPACE();
namespace wick::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using WideTag = hn::ScalableTag<float>;

HWY_INLINE hn::Vec<WideTag> load_wide(const float* p) { return hn::LoadU(WideTag(), p); }
HWY_INLINE hn::Vec<WideTag> load_wide(const f16* p) {
  const WideTag d;
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
  // Highway's emulated conversion knows no infinity and no NaN of f16.
  HWY_ALIGN float lanes[hn::MaxLanes(d)];
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = static_cast<float>(p[i]);
  return hn::Load(d, lanes);
#else
  const hn::Rebind<hwy::float16_t, WideTag> dh;
  const hn::Rebind<uint16_t, WideTag> du;
  return hn::PromoteTo(d, hn::BitCast(dh, hn::LoadU(du, reinterpret_cast<const uint16_t*>(p))));
#endif
}
HWY_INLINE hn::Vec<WideTag> load_wide(const bf16* p) {
  const WideTag d;
  const hn::Rebind<uint16_t, WideTag> du;
  const hn::Rebind<uint32_t, WideTag> dw;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(dw, hn::LoadU(du, reinterpret_cast<const uint16_t*>(p)))));
}

}  // namespace HWY_NAMESPACE
}  // namespace wick::cpu
HWY_AFTER_NAMESPACE();
#endif
