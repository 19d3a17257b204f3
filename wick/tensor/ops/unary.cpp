#include "wick/tensor/ops/unary.h"

#include <cmath>
#include <numbers>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/op_rule.h"
#include "wick/tensor/ops/reference.h"

namespace wick {
namespace {

constexpr double kSqrtTwoOverPi = 0.7978845608028653559;
// The constant of the tanh form of GELU (Hendrycks & Gimpel 2016).
constexpr double kGeluCubic = 0.044715;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
// log(1 + e^x) without overflow.
double softplus(double x) { return std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
double hard_sigmoid(double x) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); }

double value_of(const UnaryParams& params, double x) {
  switch (params.kind) {
    case UnaryKind::neg: return -x;
    case UnaryKind::abs: return std::fabs(x);
    case UnaryKind::sign: return x > 0 ? 1 : x < 0 ? -1 : 0;
    case UnaryKind::floor: return std::floor(x);
    case UnaryKind::ceil: return std::ceil(x);
    case UnaryKind::round: return std::round(x);
    case UnaryKind::sqr: return x * x;
    case UnaryKind::sqrt: return std::sqrt(x);
    case UnaryKind::rsqrt: return 1 / std::sqrt(x);
    case UnaryKind::recip: return 1 / x;
    case UnaryKind::exp: return std::exp(x);
    case UnaryKind::log: return std::log(x);
    case UnaryKind::sin: return std::sin(x);
    case UnaryKind::cos: return std::cos(x);
    case UnaryKind::tanh: return std::tanh(x);
    case UnaryKind::erf: return std::erf(x);
    case UnaryKind::sigmoid: return sigmoid(x);
    case UnaryKind::silu: return x * sigmoid(x);
    case UnaryKind::relu: return std::fmax(x, 0.0);
    case UnaryKind::gelu: return 0.5 * x * (1 + std::tanh(kSqrtTwoOverPi * (x + kGeluCubic * x * x * x)));
    case UnaryKind::gelu_erf: return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    case UnaryKind::softplus: return softplus(x);
    case UnaryKind::mish: return x * std::tanh(softplus(x));
    case UnaryKind::hard_sigmoid: return hard_sigmoid(x);
    case UnaryKind::hard_swish: return x * hard_sigmoid(x);
    case UnaryKind::affine: return x * params.a + params.b;
    case UnaryKind::powf: return std::pow(x, params.a);
    case UnaryKind::elu: return x > 0 ? x : params.a * std::expm1(x);
    case UnaryKind::leaky_relu: return x > 0 ? x : params.a * x;
    case UnaryKind::clamp: return std::fmin(std::fmax(x, params.a), params.b);
    case UnaryKind::trunc: return std::trunc(x);
    case UnaryKind::tan: return std::tan(x);
    case UnaryKind::asin: return std::asin(x);
    case UnaryKind::acos: return std::acos(x);
    case UnaryKind::atan: return std::atan(x);
    case UnaryKind::sinh: return std::sinh(x);
    case UnaryKind::cosh: return std::cosh(x);
    case UnaryKind::asinh: return std::asinh(x);
    case UnaryKind::acosh: return std::acosh(x);
    case UnaryKind::atanh: return std::atanh(x);
    case UnaryKind::exp2: return std::exp2(x);
    case UnaryKind::expm1: return std::expm1(x);
    case UnaryKind::log2: return std::log2(x);
    case UnaryKind::log10: return std::log10(x);
    case UnaryKind::log1p: return std::log1p(x);
  }
  return 0;
}

bool keeps_integers(UnaryKind kind) { return info(kind).domain == Domain::numbers; }

// The result of a function that stays among the integers, in that integer's two's complement.
double integer_value_of(const UnaryParams& params, DType dtype, double x) {
  if (params.kind == UnaryKind::affine || params.kind == UnaryKind::clamp) return value_of(params, x);
  if (params.kind == UnaryKind::sqr) {
    const auto root = static_cast<uint64_t>(as_integer(x));
    return wrap_integer(dtype, static_cast<int64_t>(root * root));
  }
  return wrap_integer(dtype, as_integer(value_of(params, x)));
}

void unary_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const UnaryParams& unary = *static_cast<const UnaryParams*>(params);
  const DType dtype = outputs[0].dtype;
  for (size_t i = 0; i < outputs[0].values.size(); ++i) {
    const double x = inputs[0].values[i];
    if (is_integer(dtype)) {
      outputs[0].values[i] = integer_value_of(unary, dtype, x);
    } else {
      outputs[0].values[i] = std::isnan(x) ? x : value_of(unary, x);
    }
  }
}

// e^(-x²/2) / √(2π)
Tensor normal_density(const Tensor& x) { return (x.sqr() * -0.5).exp() * (std::numbers::inv_sqrtpi / std::numbers::sqrt2); }

Tensor gelu_slope(const Tensor& x) {
  const Tensor t = ((x * x.sqr() * kGeluCubic + x) * kSqrtTwoOverPi).tanh();
  const Tensor inner = x.sqr().affine(3 * kGeluCubic * kSqrtTwoOverPi, kSqrtTwoOverPi);
  return (t + 1.0) * 0.5 + x * 0.5 * (1.0 - t.sqr()) * inner;
}

Tensor mish_slope(const Tensor& x) {
  const Tensor t = unary({.kind = UnaryKind::softplus}, x).tanh();
  return t + x * x.sigmoid() * (1.0 - t.sqr());
}

// `inside` where low < x < high, `below` under low, `above` over high.
Tensor piecewise(const Tensor& x, double low, double high, const Tensor& below, const Tensor& inside, const Tensor& above) {
  return x.le(low).where_cond(below, x.lt(high).where_cond(inside, above));
}

Tensor input_gradient(const GradientContext& context, const UnaryParams& params) {
  const Tensor& g = context.gradient();
  const auto x = [&] { return context.input(0); };
  const auto y = [&] { return context.output(); };
  switch (params.kind) {
    case UnaryKind::neg: return g.neg();
    case UnaryKind::abs: return g * x().sign();
    case UnaryKind::sign:
    case UnaryKind::floor:
    case UnaryKind::ceil:
    case UnaryKind::round:
    case UnaryKind::trunc: return g.zeros_like();
    case UnaryKind::sqr: return g * x() * 2.0;
    case UnaryKind::sqrt: return g / y() * 0.5;
    case UnaryKind::rsqrt: return g * y() * y().sqr() * -0.5;
    case UnaryKind::recip: return g * y().sqr().neg();
    case UnaryKind::exp: return g * y();
    case UnaryKind::log: return g / x();
    case UnaryKind::sin: return g * x().cos();
    case UnaryKind::cos: return g * x().sin().neg();
    case UnaryKind::tanh: return g * (1.0 - y().sqr());
    case UnaryKind::erf: return g * (x().sqr().neg().exp() * (2 * std::numbers::inv_sqrtpi));
    case UnaryKind::sigmoid: return g * y() * (1.0 - y());
    case UnaryKind::silu: {
      const Tensor s = x().sigmoid();
      return g * s * ((1.0 - s) * x() + 1.0);
    }
    case UnaryKind::relu: return x().le(0).where_cond(g.zeros_like(), g);
    case UnaryKind::gelu: return g * gelu_slope(x());
    case UnaryKind::gelu_erf: return g * ((x() * (1 / std::numbers::sqrt2)).erf().affine(0.5, 0.5) + x() * normal_density(x()));
    case UnaryKind::softplus: return g * x().sigmoid();
    case UnaryKind::mish: return g * mish_slope(x());
    case UnaryKind::hard_sigmoid: return piecewise(x(), -3, 3, g.zeros_like(), g * (1.0 / 6), g.zeros_like());
    case UnaryKind::hard_swish: return piecewise(x(), -3, 3, g.zeros_like(), g * x().affine(1.0 / 3, 0.5), g);
    case UnaryKind::affine: return g * params.a;
    case UnaryKind::powf: return params.a == 0 ? g.zeros_like() : g * x().powf(params.a - 1) * params.a;
    case UnaryKind::elu: return x().le(0).where_cond(g * x().exp() * params.a, g);
    case UnaryKind::leaky_relu: return x().le(0).where_cond(g * params.a, g);
    case UnaryKind::clamp: {
      const Tensor outside = x().lt(params.a).maximum(x().gt(params.b));
      return outside.where_cond(g.zeros_like(), g);
    }
    case UnaryKind::tan: return g * (y().sqr() + 1.0);
    case UnaryKind::asin: return g * (1.0 - x().sqr()).rsqrt();
    case UnaryKind::acos: return g.neg() * (1.0 - x().sqr()).rsqrt();
    case UnaryKind::atan: return g / (x().sqr() + 1.0);
    case UnaryKind::sinh: return g * x().cosh();
    case UnaryKind::cosh: return g * x().sinh();
    case UnaryKind::asinh: return g * (x().sqr() + 1.0).rsqrt();
    case UnaryKind::acosh: return g * ((x() - 1.0) * (x() + 1.0)).rsqrt();
    case UnaryKind::atanh: return g / (1.0 - x().sqr());
    case UnaryKind::exp2: return g * y() * std::numbers::ln2;
    case UnaryKind::expm1: return g * (y() + 1.0);
    case UnaryKind::log2: return g / (x() * std::numbers::ln2);
    case UnaryKind::log10: return g / (x() * std::numbers::ln10);
    case UnaryKind::log1p: return g / (x() + 1.0);
  }
  return g;
}

void unary_gradient(GradientContext& context) { context.give(0, input_gradient(context, context.parameters<UnaryParams>())); }

Tensor of_kind(UnaryKind kind, const Tensor& x, double a = 0, double b = 0) { return unary({.kind = kind, .a = a, .b = b}, x); }

}  // namespace

const OpRule rules::unary = {.defining_operand = 0,
                             .reference = unary_reference,
                             .unsupported = refuse_quantized,
                             .gradient_kind = GradientKind::function,
                             .gradient = unary_gradient};

Tensor unary(const UnaryParams& params, const Tensor& x) {
  const std::string_view name = to_string(params.kind);
  check_assigned(name, x);
  check_dtype(OpId::unary, name, x);
  if (is_integer(x.dtype()) && !keeps_integers(params.kind)) {
    fail(ErrorCode::unsupported, "{}: not defined for {}: {}", name, x.describe(), kFloatsOnly);
  }
  Tensor result = make_result(name, x.shape(), x.dtype(), x.device());
  apply(OpId::unary, params, {&x}, {&result});
  return result;
}

Tensor Tensor::neg() const { return of_kind(UnaryKind::neg, *this); }
Tensor Tensor::abs() const { return of_kind(UnaryKind::abs, *this); }
Tensor Tensor::sign() const { return of_kind(UnaryKind::sign, *this); }
Tensor Tensor::floor() const { return of_kind(UnaryKind::floor, *this); }
Tensor Tensor::ceil() const { return of_kind(UnaryKind::ceil, *this); }
Tensor Tensor::round() const { return of_kind(UnaryKind::round, *this); }
Tensor Tensor::sqr() const { return of_kind(UnaryKind::sqr, *this); }
Tensor Tensor::sqrt() const { return of_kind(UnaryKind::sqrt, *this); }
Tensor Tensor::rsqrt() const { return of_kind(UnaryKind::rsqrt, *this); }
Tensor Tensor::recip() const { return of_kind(UnaryKind::recip, *this); }
Tensor Tensor::exp() const { return of_kind(UnaryKind::exp, *this); }
Tensor Tensor::log() const { return of_kind(UnaryKind::log, *this); }
Tensor Tensor::sin() const { return of_kind(UnaryKind::sin, *this); }
Tensor Tensor::cos() const { return of_kind(UnaryKind::cos, *this); }
Tensor Tensor::tanh() const { return of_kind(UnaryKind::tanh, *this); }
Tensor Tensor::erf() const { return of_kind(UnaryKind::erf, *this); }
Tensor Tensor::sigmoid() const { return of_kind(UnaryKind::sigmoid, *this); }
Tensor Tensor::silu() const { return of_kind(UnaryKind::silu, *this); }
Tensor Tensor::relu() const { return of_kind(UnaryKind::relu, *this); }
Tensor Tensor::gelu() const { return of_kind(UnaryKind::gelu, *this); }
Tensor Tensor::gelu_erf() const { return of_kind(UnaryKind::gelu_erf, *this); }
Tensor Tensor::affine(double multiplier, double addend) const { return of_kind(UnaryKind::affine, *this, multiplier, addend); }
Tensor Tensor::powf(double exponent) const { return of_kind(UnaryKind::powf, *this, exponent); }
Tensor Tensor::elu(double alpha) const { return of_kind(UnaryKind::elu, *this, alpha); }
Tensor Tensor::clamp(double low, double high) const { return of_kind(UnaryKind::clamp, *this, low, high); }

Tensor Tensor::clamp(const Tensor& low, const Tensor& high) const {
  check_assigned("clamp", {{"the tensor", *this}, {"low", low}, {"high", high}});
  return maximum(low).minimum(high);
}
Tensor Tensor::trunc() const { return of_kind(UnaryKind::trunc, *this); }
Tensor Tensor::tan() const { return of_kind(UnaryKind::tan, *this); }
Tensor Tensor::asin() const { return of_kind(UnaryKind::asin, *this); }
Tensor Tensor::acos() const { return of_kind(UnaryKind::acos, *this); }
Tensor Tensor::atan() const { return of_kind(UnaryKind::atan, *this); }
Tensor Tensor::sinh() const { return of_kind(UnaryKind::sinh, *this); }
Tensor Tensor::cosh() const { return of_kind(UnaryKind::cosh, *this); }
Tensor Tensor::asinh() const { return of_kind(UnaryKind::asinh, *this); }
Tensor Tensor::acosh() const { return of_kind(UnaryKind::acosh, *this); }
Tensor Tensor::atanh() const { return of_kind(UnaryKind::atanh, *this); }
Tensor Tensor::exp2() const { return of_kind(UnaryKind::exp2, *this); }
Tensor Tensor::expm1() const { return of_kind(UnaryKind::expm1, *this); }
Tensor Tensor::log2() const { return of_kind(UnaryKind::log2, *this); }
Tensor Tensor::log10() const { return of_kind(UnaryKind::log10, *this); }
Tensor Tensor::log1p() const { return of_kind(UnaryKind::log1p, *this); }

// Where x lies halfway, twice the nearest of x / 2.
Tensor round_even(const Tensor& x) {
  check_assigned("round_even", x);
  if (!is_float(x.dtype()) || x.elements() == 0) return x.round();
  const Tensor is_half = (x - x.trunc()).abs().eq(0.5);
  return is_half.where_cond((x * 0.5).round() * 2.0, x.round());
}

Tensor Tensor::round_to(int decimals) const {
  const double unit = std::pow(10.0, decimals);
  return (*this * unit).round() * (1 / unit);
}

}  // namespace wick
