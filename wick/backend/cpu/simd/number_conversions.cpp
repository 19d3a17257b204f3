// Conversions between the number types, as copy defines them.
// Plain loops: the compiler turns them into vector code for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "wick/backend/cpu/simd/number_conversions.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <limits>
#include <tuple>
#include <type_traits>

#include "wick/backend/cpu/simd/number_loops.h"
#include "wick/backend/cpu/simd/saturate.h"
#include "wick/backend/cpu/simd/select.h"
#include "wick/backend/cpu/simd/simd_kernels.h"
#include "wick/base/half.h"
#include "wick/op/op.h"

HWY_BEFORE_NAMESPACE();
namespace wick::cpu {
namespace HWY_NAMESPACE {

template <class To, class From>
HWY_INLINE To converted(From value) {
  if constexpr (std::is_floating_point_v<To>) {  // NOLINT(bugprone-branch-clone): it rounds here, and cuts off at the end
    return static_cast<To>(value);
  } else if constexpr (std::is_floating_point_v<From>) {
    return saturated<To>(static_cast<double>(value));
  } else {
    return static_cast<To>(value);  // the low bits, as two's complement has them
  }
}

template <class From, class To>
void convert(const From* HWY_RESTRICT x, void* out, size_t n) {
  To* HWY_RESTRICT target = static_cast<To*>(out);
  for (size_t i = 0; i < n; ++i) target[i] = converted<To>(x[i]);
}

// An i64 as a double that can be rounded once more without harm: beyond 2^53 the digits that are lost set the last one kept (round to
// odd: Boldo & Melquiond 2008).
HWY_INLINE double to_odd_double(int64_t value) {
  const uint64_t magnitude = value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  if (magnitude >> 53 == 0) return static_cast<double>(value);
  constexpr uint64_t kLost = 0x7ff;
  const auto folded = static_cast<double>((magnitude & ~kLost) | ((magnitude & kLost) != 0 ? kLost + 1 : 0));
  return value < 0 ? -folded : folded;
}

template <class From>
void to_odd(const From* HWY_RESTRICT x, float* HWY_RESTRICT out, size_t n) {
  if constexpr (std::is_same_v<From, float>) {
    for (size_t i = 0; i < n; ++i) out[i] = x[i];
  } else if constexpr (std::is_same_v<From, int64_t>) {
    for (size_t i = 0; i < n; ++i) out[i] = round_to_odd(to_odd_double(x[i]));
  } else {
    for (size_t i = 0; i < n; ++i) out[i] = round_to_odd(static_cast<double>(x[i]));
  }
}

template <class From, class... To>
void fill_conversions_of(NumberLoops<From>& loops, const std::tuple<To...>* /*types*/) {
  loops.convert = {convert<From, To>...};
  loops.to_odd = to_odd<From>;
}

void fill_conversions(SimdKernels& kernels) {
  kernels.for_each_number([](auto& loops) HWY_ATTR { fill_conversions_of(loops, static_cast<const Numbers*>(nullptr)); });
}

}  // namespace HWY_NAMESPACE
}  // namespace wick::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick::cpu {

void fill_number_conversions(SimdKernels& kernels) { WICK_CALL_FOR_SET(kernels.set, fill_conversions, kernels); }

}  // namespace wick::cpu
#endif
