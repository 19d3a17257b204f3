// The unary functions of floats as vector code, one functor each. Included once for each instruction set.
#if defined(WICK_BACKEND_CPU_SIMD_UNARY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKEND_CPU_SIMD_UNARY_INL_H_
#undef WICK_BACKEND_CPU_SIMD_UNARY_INL_H_
#else
#define WICK_BACKEND_CPU_SIMD_UNARY_INL_H_
#endif

#include "wick/backend/cpu/simd/math-inl.h"
#include "wick/backend/cpu/simd/number_loops.h"
#include "wick/op/op.h"

HWY_BEFORE_NAMESPACE();
namespace wick::cpu {
namespace HWY_NAMESPACE {

// The parameters of a call, as vectors.
template <class V>
struct Parameters {
  V a;
  V b;
};

// Defines a functor `name` whose operator()(d, x, p) is the body.
#define WICK_UNARY(name, ...)                                                          \
  struct name {                                                                        \
    template <class D, class V = hn::Vec<D>>                                           \
    HWY_INLINE V operator()(D d, V x, [[maybe_unused]] const Parameters<V>& p) const { \
      (void)d;                                                                         \
      __VA_ARGS__                                                                      \
    }                                                                                  \
  }

WICK_UNARY(Negate, return hn::Neg(x););
WICK_UNARY(Absolute, return hn::Abs(x););
WICK_UNARY(Sign, {
  const V zero = hn::Zero(d);
  const V sign = hn::IfThenElse(hn::Lt(x, zero), constant(d, -1), hn::IfThenElseZero(hn::Gt(x, zero), constant(d, 1)));
  return keep_nan(d, x, sign);
});
WICK_UNARY(Floor, return hn::Floor(x););
WICK_UNARY(Ceil, return hn::Ceil(x););
WICK_UNARY(Truncate, return hn::Trunc(x););
// |x| - trunc |x| is exact, so that a number just below one half stays below.
WICK_UNARY(Round, {
  const V magnitude = hn::Abs(x);
  const V whole = hn::Trunc(magnitude);
  const auto up = hn::Ge(hn::Sub(magnitude, whole), constant(d, 0.5));
  return keep_nan(d, x, hn::CopySign(hn::Add(whole, hn::IfThenElseZero(up, constant(d, 1))), x));
});
WICK_UNARY(Square, return hn::Mul(x, x););
WICK_UNARY(SquareRoot, return hn::Sqrt(x););
WICK_UNARY(ReciprocalRoot, return hn::Div(constant(d, 1), hn::Sqrt(x)););
WICK_UNARY(Reciprocal, return hn::Div(constant(d, 1), x););
WICK_UNARY(Exponential, return exponential(d, x););
WICK_UNARY(Logarithm, return logarithm(d, x););
WICK_UNARY(Sine, return sine(d, x););
WICK_UNARY(Cosine, return cosine(d, x););
WICK_UNARY(HyperbolicTangent, return hyperbolic_tangent(d, x););
WICK_UNARY(ErrorFunction, return error_function(d, x););
WICK_UNARY(Sigmoid, return logistic(d, x););
WICK_UNARY(Silu, return times_logistic(d, x, x););
WICK_UNARY(Relu, return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x););
// x / 2 · (1 + tanh u) is x / (1 + e^-2u).
WICK_UNARY(Gelu, {
  const V cubic = hn::MulAdd(hn::Mul(x, x), constant(d, 0.044715), constant(d, 1));
  return times_logistic(d, x, hn::Mul(hn::Mul(x, cubic), constant(d, 2 * 0.7978845608028653559)));
});
WICK_UNARY(GeluErf, {
  const V erf = error_function(d, hn::Mul(x, constant(d, 0.70710678118654752440)));
  return hn::Mul(hn::Mul(x, constant(d, 0.5)), hn::Add(constant(d, 1), erf));
});
WICK_UNARY(Softplus, {
  const V t = exponential_below(d, hn::Neg(hn::Abs(x)));
  return keep_nan(d, x, hn::Add(hn::Max(x, hn::Zero(d)), hn::Log1p(d, t)));
});
// With n = e^x: tanh(log(1 + n)) = n (n + 2) / (n (n + 2) + 2); divided by n² where n is large.
WICK_UNARY(Mish, {
  const V two = constant(d, 2);
  const V t = exponential_below(d, hn::Neg(hn::Abs(x)));
  const V small = hn::Mul(t, hn::Add(t, two));
  const V large = hn::MulAdd(two, t, constant(d, 1));
  const auto below = hn::Lt(x, hn::Zero(d));
  const V numerator = hn::IfThenElse(below, small, large);
  const V rest = hn::IfThenElse(below, two, hn::Mul(two, hn::Mul(t, t)));
  return hn::Div(hn::Mul(x, numerator), hn::Add(numerator, rest));
});
WICK_UNARY(HardSigmoid, {
  const V y = hn::MulAdd(x, constant(d, 1.0 / 6), constant(d, 0.5));
  return keep_nan(d, x, hn::Min(hn::Max(y, hn::Zero(d)), constant(d, 1)));
});
WICK_UNARY(HardSwish, {
  const V y = hn::MulAdd(x, constant(d, 1.0 / 6), constant(d, 0.5));
  return keep_nan(d, x, hn::Mul(x, hn::Min(hn::Max(y, hn::Zero(d)), constant(d, 1))));
});
WICK_UNARY(Affine, return hn::MulAdd(x, p.a, p.b););
WICK_UNARY(Elu, return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Mul(p.a, exponential_minus_one(d, x))););
WICK_UNARY(LeakyRelu, return hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Mul(p.a, x)););
// A limit that is NaN does not limit.
WICK_UNARY(Clamp, {
  const V raised = hn::IfThenElse(hn::Lt(x, p.a), p.a, x);
  return hn::IfThenElse(hn::Gt(raised, p.b), p.b, raised);
});
#undef WICK_UNARY

// Applies F to n elements; the tail goes through a vector of its own, so that each element sees the same arithmetic.
template <class T, class F>
void map_unary(const T* x, T* out, size_t n, double a, double b) {
  const hn::ScalableTag<T> d;
  const Parameters<hn::Vec<decltype(d)>> p{constant(d, a), constant(d, b)};
  const size_t lanes = hn::Lanes(d);
  const F f;
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(d, hn::LoadU(d, x + i), p), d, out + i);
  if (i == n) return;
  HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(T)] = {};
  for (size_t j = 0; j < n - i; ++j) buffer[j] = x[i + j];
  hn::Store(f(d, hn::Load(d, buffer), p), d, buffer);
  for (size_t j = 0; j < n - i; ++j) out[i + j] = buffer[j];
}

// powf is in pow_loops.cpp; the kinds that have no loop run by the reference loops.
template <class T>
void fill_unary(NumberLoops<T>& loops) {
  const auto set = [&](UnaryKind kind, UnaryLoop<T> loop) { loops.unary[static_cast<size_t>(kind)] = loop; };
  set(UnaryKind::neg, map_unary<T, Negate>);
  set(UnaryKind::abs, map_unary<T, Absolute>);
  set(UnaryKind::sign, map_unary<T, Sign>);
  set(UnaryKind::floor, map_unary<T, Floor>);
  set(UnaryKind::ceil, map_unary<T, Ceil>);
  set(UnaryKind::round, map_unary<T, Round>);
  set(UnaryKind::sqr, map_unary<T, Square>);
  set(UnaryKind::sqrt, map_unary<T, SquareRoot>);
  set(UnaryKind::rsqrt, map_unary<T, ReciprocalRoot>);
  set(UnaryKind::recip, map_unary<T, Reciprocal>);
  set(UnaryKind::exp, map_unary<T, Exponential>);
  set(UnaryKind::log, map_unary<T, Logarithm>);
  set(UnaryKind::sin, map_unary<T, Sine>);
  set(UnaryKind::cos, map_unary<T, Cosine>);
  set(UnaryKind::tanh, map_unary<T, HyperbolicTangent>);
  set(UnaryKind::erf, map_unary<T, ErrorFunction>);
  set(UnaryKind::sigmoid, map_unary<T, Sigmoid>);
  set(UnaryKind::silu, map_unary<T, Silu>);
  set(UnaryKind::relu, map_unary<T, Relu>);
  set(UnaryKind::gelu, map_unary<T, Gelu>);
  set(UnaryKind::gelu_erf, map_unary<T, GeluErf>);
  set(UnaryKind::softplus, map_unary<T, Softplus>);
  set(UnaryKind::mish, map_unary<T, Mish>);
  set(UnaryKind::hard_sigmoid, map_unary<T, HardSigmoid>);
  set(UnaryKind::hard_swish, map_unary<T, HardSwish>);
  set(UnaryKind::affine, map_unary<T, Affine>);
  set(UnaryKind::elu, map_unary<T, Elu>);
  set(UnaryKind::leaky_relu, map_unary<T, LeakyRelu>);
  set(UnaryKind::clamp, map_unary<T, Clamp>);
  set(UnaryKind::trunc, map_unary<T, Truncate>);
}

}  // namespace HWY_NAMESPACE
}  // namespace wick::cpu
HWY_AFTER_NAMESPACE();

#endif  // the include guard of each instruction set
