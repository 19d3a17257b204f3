// Loops over f32 that attention and gated products are made of.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "wick/backend/cpu/simd/float_kernels.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>  // must come after highway.h

#include "wick/backend/cpu/simd/math-inl.h"
#include "wick/backend/cpu/simd/select.h"
#include "wick/backend/cpu/simd/simd_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace wick::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Applies f(vector) over n elements; the tail goes through a partial load, so that each element sees the same arithmetic.
template <class F>
HWY_INLINE void map1(const float* x, float* out, size_t n, F&& f) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, x + i)), d, out + i);
  if (i == n) return;
  HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)] = {};
  for (size_t j = 0; j < n - i; ++j) buffer[j] = x[i + j];
  hn::Store(f(hn::Load(d, buffer)), d, buffer);
  for (size_t j = 0; j < n - i; ++j) out[i + j] = buffer[j];
}

template <class F>
HWY_INLINE void map2(const float* x, const float* y, float* out, size_t n, F&& f) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, out + i);
  if (i == n) return;
  HWY_ALIGN float left[HWY_MAX_BYTES / sizeof(float)] = {};
  HWY_ALIGN float right[HWY_MAX_BYTES / sizeof(float)] = {};
  for (size_t j = 0; j < n - i; ++j) {
    left[j] = x[i + j];
    right[j] = y[i + j];
  }
  hn::Store(f(hn::Load(d, left), hn::Load(d, right)), d, left);
  for (size_t j = 0; j < n - i; ++j) out[i + j] = left[j];
}

// x / (1 + e^-x), which is x · e^x / (1 + e^x): with t = e^-|x| nothing overflows (Highway's Exp is wrong above 104). NaN stays NaN.
HWY_INLINE V silu_vector(V x) {
  const D d;
  const V t = hn::Exp(d, hn::Neg(hn::Abs(x)));
  const V numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, t), x);
  return hn::Div(numerator, hn::Add(hn::Set(d, 1.0F), t));
}

void silu_multiply(const float* gate, const float* up, float* out, size_t n) {
  map2(gate, up, out, n, [](V g, V u) HWY_ATTR { return hn::Mul(silu_vector(g), u); });
}

void gelu_multiply(const float* gate, const float* up, float* out, size_t n) {
  map2(gate, up, out, n, [](V g, V u) HWY_ATTR {
    const D d;
    // x / 2 · (1 + tanh z) is x / (1 + e^-2z).
    const V cubic = hn::MulAdd(hn::Mul(g, g), hn::Set(d, 0.044715F), hn::Set(d, 1.0F));
    return hn::Mul(times_logistic(d, g, hn::Mul(hn::Mul(g, cubic), hn::Set(d, 2 * 0.79788456F))), u);
  });
}

void gelu_erf_multiply(const float* gate, const float* up, float* out, size_t n) {
  map2(gate, up, out, n, [](V g, V u) HWY_ATTR {
    const D d;
    const V erf = error_function(d, hn::Mul(g, hn::Set(d, 0.70710678F)));
    return hn::Mul(hn::Mul(hn::Mul(g, hn::Set(d, 0.5F)), hn::Add(hn::Set(d, 1.0F), erf)), u);
  });
}

void relu_sqr_multiply(const float* gate, const float* up, float* out, size_t n) {
  map2(gate, up, out, n, [](V g, V u) HWY_ATTR {
    const V positive = hn::IfThenZeroElse(hn::Lt(g, hn::Zero(D())), g);
    return hn::Mul(hn::Mul(positive, positive), u);
  });
}

void swiglu_oai_multiply(const float* gate, const float* up, float* out, size_t n) {
  map2(gate, up, out, n, [](V g, V u) HWY_ATTR {
    const D d;
    const V most = hn::Set(d, kSwigluLimit);
    const V least = hn::Neg(most);
    const V bounded = hn::IfThenElse(hn::Gt(g, most), most, g);
    const V clamped = hn::IfThenElse(hn::Gt(u, most), most, hn::IfThenElse(hn::Lt(u, least), least, u));
    const V activated = times_logistic(d, bounded, hn::Mul(bounded, hn::Set(d, kSwigluSlope)));
    return hn::Mul(activated, hn::Add(clamped, hn::Set(d, 1.0F)));
  });
}

float largest(const float* x, size_t n) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  float result = x[0];
  size_t i = 0;
  if (n >= lanes) {
    V best = hn::LoadU(d, x);
    for (i = lanes; i + lanes <= n; i += lanes) best = hn::Max(best, hn::LoadU(d, x + i));
    result = hn::GetLane(hn::MaxOfLanes(d, best));
  }
  for (; i < n; ++i) result = x[i] > result ? x[i] : result;
  return result;
}

float exp_and_sum(const float* x, float shift, float* out, size_t n) {
  const D d;
  const V offset = hn::Set(d, shift);
  V sum = hn::Zero(d);
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  // Exp clamps its argument, so a NaN must be put back.
  const auto exp_shifted = [&](V v) HWY_ATTR {
    const V argument = hn::Sub(v, offset);
    return hn::IfThenElse(hn::IsNaN(argument), argument, hn::Exp(d, argument));
  };
  for (; i + lanes <= n; i += lanes) {
    const V value = exp_shifted(hn::LoadU(d, x + i));
    hn::StoreU(value, d, out + i);
    sum = hn::Add(sum, value);
  }
  float total = hn::GetLane(hn::SumOfLanes(d, sum));
  if (i < n) {
    HWY_ALIGN float buffer[HWY_MAX_BYTES / sizeof(float)] = {};
    for (size_t j = 0; j < n - i; ++j) buffer[j] = x[i + j];
    hn::Store(exp_shifted(hn::Load(d, buffer)), d, buffer);
    for (size_t j = 0; j < n - i; ++j) {
      out[i + j] = buffer[j];
      total += buffer[j];
    }
  }
  return total;
}

void scale(float* x, float factor, size_t n) {
  map1(x, x, n, [factor](V v) HWY_ATTR { return hn::Mul(v, hn::Set(D(), factor)); });
}

void fill_float(SimdKernels& kernels) {
  const auto set = [&](GateKind kind, SimdKernels::GateMultiply loop) { kernels.gate_multiply[static_cast<size_t>(kind)] = loop; };
  set(GateKind::silu, silu_multiply);
  set(GateKind::gelu, gelu_multiply);
  set(GateKind::gelu_erf, gelu_erf_multiply);
  set(GateKind::relu_sqr, relu_sqr_multiply);
  set(GateKind::swiglu_oai, swiglu_oai_multiply);
  kernels.largest = largest;
  kernels.exp_and_sum = exp_and_sum;
  kernels.scale = scale;
}

}  // namespace HWY_NAMESPACE
}  // namespace wick::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick::cpu {

void fill_float_kernels(SimdKernels& kernels) { WICK_CALL_FOR_SET(kernels.set, fill_float, kernels); }

}  // namespace wick::cpu
#endif
