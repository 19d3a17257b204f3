// Powers: of f32 as e^(y · log x) in f64, of f64 by the library's function.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "wick/backend/cpu/simd/pow_loops.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "wick/backend/cpu/simd/number_loops.h"
#include "wick/backend/cpu/simd/select.h"
#include "wick/backend/cpu/simd/simd_kernels.h"
#include "wick/backend/cpu/simd/wide-inl.h"
#include "wick/op/op.h"

HWY_BEFORE_NAMESPACE();
namespace wick::cpu {
namespace HWY_NAMESPACE {

// |x|^a with the sign that powers of a negative x have: x's own where a is odd, NaN where a is not whole.
struct ConstantPower {
  double exponent;
  bool whole;
  bool odd;

  explicit ConstantPower(double a) : exponent(a), whole(std::floor(a) == a), odd(whole && std::fmod(a, 2) != 0) {}

  HWY_INLINE WideVector operator()(Wide d, WideVector x) const {
    const WideVector magnitude = exponential(d, hn::Mul(constant(d, exponent), logarithm(d, hn::Abs(x))));
    if (odd) return keep_nan(d, x, hn::CopySign(magnitude, x));
    if (whole) return keep_nan(d, x, magnitude);
    const auto negative = hn::And(hn::Lt(x, hn::Zero(d)), hn::Gt(x, constant(d, -std::numeric_limits<double>::infinity())));
    return keep_nan(d, x, hn::IfThenElse(negative, constant(d, std::numeric_limits<double>::quiet_NaN()), magnitude));
  }
};

double power_of(double x, double exponent) { return std::isnan(x) ? x : std::pow(x, exponent); }

void power_f32(const float* x, float* out, size_t n, double a, double /*b*/) {
  if (a == 0 || !std::isfinite(a)) {
    for (size_t i = 0; i < n; ++i) out[i] = static_cast<float>(power_of(static_cast<double>(x[i]), a));
    return;
  }
  if (a == 2) return map_wide(x, out, n, [](Wide /*d*/, WideVector v) HWY_ATTR { return hn::Mul(v, v); });
  if (a == 3) return map_wide(x, out, n, [](Wide /*d*/, WideVector v) HWY_ATTR { return hn::Mul(hn::Mul(v, v), v); });
  const ConstantPower power(a);
  map_wide(x, out, n, [&power](Wide d, WideVector v) HWY_ATTR { return power(d, v); });
}

void power_f64(const double* x, double* out, size_t n, double a, double /*b*/) {
  for (size_t i = 0; i < n; ++i) out[i] = power_of(x[i], a);
}

template <class T, size_t kLeftStep, size_t kRightStep>
void binary_power(const T* lhs, const T* rhs, T* out, size_t n) {
  size_t i = 0;
  if constexpr (sizeof(T) == 4) {
    const Wide d;
    const Narrow narrow;
    const size_t lanes = hn::Lanes(d);
    const WideVector infinity = constant(d, std::numeric_limits<double>::infinity());
    for (; i + lanes <= n; i += lanes) {
      const auto x32 = kLeftStep == 0 ? hn::Set(narrow, lhs[0]) : hn::LoadU(narrow, lhs + i);
      const auto y32 = kRightStep == 0 ? hn::Set(narrow, rhs[0]) : hn::LoadU(narrow, rhs + i);
      const WideVector x = hn::PromoteTo(d, x32);
      const WideVector y = hn::PromoteTo(d, y32);
      const auto positive = hn::And(hn::Gt(x, hn::Zero(d)), hn::Lt(x, infinity));
      if (hn::AllTrue(d, hn::And(positive, hn::Lt(hn::Abs(y), infinity)))) {
        hn::StoreU(narrowed(narrow, exponential(d, hn::Mul(y, logarithm(d, x)))), narrow, out + i);
        continue;
      }
      for (size_t j = i; j < i + lanes; ++j) out[j] = std::pow(lhs[j * kLeftStep], rhs[j * kRightStep]);
    }
  }
  for (; i < n; ++i) out[i] = std::pow(lhs[i * kLeftStep], rhs[i * kRightStep]);
}

template <class T>
void fill_power_of(NumberLoops<T>& loops, UnaryLoop<T> unary) {
  loops.unary[static_cast<size_t>(UnaryKind::powf)] = unary;
  loops.binary[static_cast<size_t>(BinaryKind::pow)] = {binary_power<T, 1, 1>, binary_power<T, 1, 0>, binary_power<T, 0, 1>};
}

void fill_power(SimdKernels& kernels) {
  fill_power_of<float>(kernels.numbers<float>(), power_f32);
  fill_power_of<double>(kernels.numbers<double>(), power_f64);
}

}  // namespace HWY_NAMESPACE
}  // namespace wick::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick::cpu {

void fill_pow_loops(SimdKernels& kernels) { WICK_CALL_FOR_SET(kernels.set, fill_power, kernels); }

}  // namespace wick::cpu
#endif
