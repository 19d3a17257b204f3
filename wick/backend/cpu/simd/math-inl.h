// Functions of a vector of f32 or f64 that are right for every number: Highway's where they serve, with the ends and the numbers that
// are not put right. Included once for each instruction set.
#if defined(WICK_BACKEND_CPU_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKEND_CPU_SIMD_MATH_INL_H_
#undef WICK_BACKEND_CPU_SIMD_MATH_INL_H_
#else
#define WICK_BACKEND_CPU_SIMD_MATH_INL_H_
#endif

#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>  // must come after highway.h

#include <cmath>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace wick::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
using Number = hn::TFromD<D>;

template <class D>
HWY_INLINE hn::Vec<D> constant(D d, double value) {
  return hn::Set(d, static_cast<Number<D>>(value));
}

template <class D, class V>
HWY_INLINE V keep_nan(D /*d*/, V x, V y) {
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

// f(x) lane by lane, where a vector holds a number that the fast way does not serve.
template <class D, class V, class F>
HWY_NOINLINE V by_lane(D d, V x, F f) {
  HWY_ALIGN Number<D> lanes[HWY_MAX_BYTES / sizeof(Number<D>)];
  hn::Store(x, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = static_cast<Number<D>>(f(static_cast<double>(lanes[i])));
  return hn::Load(d, lanes);
}

// Highway's Exp shifts an exponent that is too large out of the word; from here on e^x is infinite anyway.
template <class D, class V>
HWY_INLINE V bounded(D d, V x) {
  return hn::Min(x, constant(d, sizeof(Number<D>) == 4 ? 104 : 1000));
}

template <class D, class V>
HWY_INLINE V exponential(D d, V x) {
  return keep_nan(d, x, hn::Exp(d, bounded(d, x)));
}

// e^x for x ≤ 0 or NaN.
template <class D, class V>
HWY_INLINE V exponential_below(D d, V x) {
  return keep_nan(d, x, hn::Exp(d, x));
}

template <class D, class V>
HWY_INLINE V exponential_minus_one(D d, V x) {
  return keep_nan(d, x, hn::Expm1(d, bounded(d, x)));
}

template <class D, class V>
HWY_INLINE V logarithm(D d, V x) {
  const V zero = hn::Zero(d);
  const V infinity = constant(d, std::numeric_limits<double>::infinity());
  const V nan = constant(d, std::numeric_limits<double>::quiet_NaN());
  const auto ordinary = hn::And(hn::Gt(x, zero), hn::Lt(x, infinity));
  const V special = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), hn::IfThenElse(hn::Lt(x, zero), nan, x));
  return hn::IfThenElse(ordinary, hn::Log(d, x), special);
}

// Highway reduces arguments up to here; the library's functions take over beyond.
inline constexpr double kLargestAngle = 39000;

template <class D, class V>
HWY_INLINE V sine(D d, V x) {
  if (hn::AllTrue(d, hn::Le(hn::Abs(x), constant(d, kLargestAngle)))) return hn::Sin(d, x);
  return by_lane(d, x, [](double v) { return std::sin(v); });
}

template <class D, class V>
HWY_INLINE V cosine(D d, V x) {
  if (hn::AllTrue(d, hn::Le(hn::Abs(x), constant(d, kLargestAngle)))) return hn::Cos(d, x);
  return by_lane(d, x, [](double v) { return std::cos(v); });
}

template <class D, class V>
HWY_INLINE V hyperbolic_tangent(D d, V x) {
  return keep_nan(d, x, hn::Tanh(d, x));
}

// 1 / (1 + e^-x): with t = e^-|x| nothing overflows.
template <class D, class V>
HWY_INLINE V logistic(D d, V x) {
  const V one = constant(d, 1);
  const V t = exponential_below(d, hn::Neg(hn::Abs(x)));
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), t, one), hn::Add(one, t));
}

// x / (1 + e^-s), the same way. NaN in x stays.
template <class D, class V>
HWY_INLINE V times_logistic(D d, V x, V s) {
  const V t = exponential_below(d, hn::Neg(hn::Abs(s)));
  const V numerator = hn::IfThenElse(hn::Lt(s, hn::Zero(d)), hn::Mul(x, t), x);
  return hn::Div(numerator, hn::Add(constant(d, 1), t));
}

template <class D, class V, size_t kCount>
HWY_INLINE V polynomial(D d, V x, const double (&coefficients)[kCount]) {
  V sum = constant(d, coefficients[kCount - 1]);
  for (size_t i = kCount - 1; i-- > 0;) sum = hn::MulAdd(sum, x, constant(d, coefficients[i]));
  return sum;
}

// x · P(x²) up to 1, and 1 - e^-Q(|x|) beyond; P and Q are least-maximum fits of erf(x) / x and -log erfc(x), good to 1.2e-9 and 1e-9.
// From 4 on erf is 1 in f32.
template <class D>
HWY_INLINE hn::Vec<D> error_function_f32(D d, hn::Vec<D> x) {
  using V = hn::Vec<D>;
  static constexpr double kSmall[] = {1.128379165913751,    -0.376126271359619,     0.11283600176211539,  -0.026854444589976253,
                                      0.005189535335649836, -0.0008020841247248778, 7.889119424418778e-05};
  static constexpr double kLarge[] = {0.00035370891096315316, 1.1270400801501574,   0.6382256022463249,     0.10303743562746004,
                                      -0.02180535120954885,   0.002939615749521396, -0.00018557489467874166};
  const V magnitude = hn::Min(hn::Abs(x), constant(d, 4));
  const V small = hn::Mul(x, polynomial(d, hn::Mul(magnitude, magnitude), kSmall));
  const V large = hn::CopySign(hn::Sub(constant(d, 1), hn::Exp(d, hn::Neg(polynomial(d, magnitude, kLarge)))), x);
  return keep_nan(d, x, hn::IfThenElse(hn::Lt(magnitude, constant(d, 1)), small, large));
}

template <class D>
HWY_INLINE hn::Vec<D> error_function(D d, hn::Vec<D> x) {
  if constexpr (sizeof(Number<D>) == 4) {
    return error_function_f32(d, x);
  } else {
    return by_lane(d, x, [](double v) { return std::erf(v); });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace wick::cpu
HWY_AFTER_NAMESPACE();

#endif  // the include guard of each instruction set
