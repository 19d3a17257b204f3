#include <bit>
#include <cmath>
#include <limits>

#include "wick/base/fail.h"
#include "wick/kernels/conversions.h"
#include "wick/kernels/math.h"
#include "wick/kernels/numbers.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/launchers/launcher.h"
#include "wick/tensor/ops/launchers/launchers.h"

namespace wick::launchers {
namespace {

using ir::Type;
using ir::Value;

Value sign(const Value& x) {
  const auto number = [&](int value) { return x.builder()->number_of(x.type(), 0, value); };
  const Value positive = select(x > 0, number(1), number(0));
  return x.type() == Type::u32 ? positive : select(x < 0, number(-1), positive);
}

// Of a number that is not NaN.
Value float_value(UnaryKind kind, const Value& x, std::span<const Value> p) {
  switch (kind) {
    case UnaryKind::neg: return -x;
    case UnaryKind::abs: return abs(x);
    case UnaryKind::sign: return sign(x);
    case UnaryKind::floor: return kernels::floor(x);
    case UnaryKind::ceil: return kernels::ceil(x);
    case UnaryKind::round: return kernels::round(x);
    case UnaryKind::sqr: return x * x;
    case UnaryKind::sqrt: return kernels::sqrt(x);
    case UnaryKind::rsqrt: return 1.0 / kernels::sqrt(x);
    case UnaryKind::recip: return 1.0 / x;
    case UnaryKind::exp: return kernels::exp(x);
    case UnaryKind::log: return kernels::log(x);
    case UnaryKind::sin: return kernels::sin(x);
    case UnaryKind::cos: return kernels::cos(x);
    case UnaryKind::tanh: return kernels::tanh(x);
    case UnaryKind::erf: return kernels::erf(x);
    case UnaryKind::sigmoid: return kernels::sigmoid(x);
    case UnaryKind::silu: return kernels::silu(x);
    case UnaryKind::relu: return max(x, 0.0);
    case UnaryKind::gelu: return kernels::gelu(x);
    case UnaryKind::gelu_erf: return kernels::gelu_erf(x);
    case UnaryKind::softplus: return kernels::softplus(x);
    case UnaryKind::mish: return kernels::mish(x);
    case UnaryKind::hard_sigmoid: return kernels::hard_sigmoid(x);
    case UnaryKind::hard_swish: return x * kernels::hard_sigmoid(x);
    case UnaryKind::affine: return x * p[0] + p[1];
    case UnaryKind::powf: return kernels::pow(x, p[0]);
    case UnaryKind::elu: return kernels::elu(x, p[0]);
    case UnaryKind::leaky_relu: return select(x > 0.0, x, x * p[0]);
    case UnaryKind::clamp: return min(max(x, p[0]), p[1]);
    case UnaryKind::trunc: return trunc(x);
    case UnaryKind::tan: return kernels::tan(x);
    case UnaryKind::asin: return kernels::asin(x);
    case UnaryKind::acos: return kernels::acos(x);
    case UnaryKind::atan: return kernels::atan(x);
    case UnaryKind::sinh: return kernels::sinh(x);
    case UnaryKind::cosh: return kernels::cosh(x);
    case UnaryKind::asinh: return kernels::asinh(x);
    case UnaryKind::acosh: return kernels::acosh(x);
    case UnaryKind::atanh: return kernels::atanh(x);
    case UnaryKind::exp2: return kernels::exp2(x);
    case UnaryKind::expm1: return kernels::expm1(x);
    case UnaryKind::log2: return kernels::log2(x);
    case UnaryKind::log10: return kernels::log10(x);
    case UnaryKind::log1p: return kernels::log1p(x);
  }
  assertion_failed("a function of no kind");
}

// Of i32, u32 and i64: the functions that stay among the integers, but affine and clamp.
Value whole_value(UnaryKind kind, const Value& x) {
  const Value zero = x.builder()->number_of(x.type(), 0, 0);
  switch (kind) {
    case UnaryKind::neg: return zero - x;
    case UnaryKind::abs: return x.type() == Type::u32 ? x : select(x < 0, zero - x, x);
    case UnaryKind::sign: return sign(x);
    case UnaryKind::sqr: return x * x;
    case UnaryKind::relu: return max(x, zero);
    default: return x;  // floor, ceil, round, trunc
  }
}

uint32_t parameter_count(UnaryKind kind) { return static_cast<uint32_t>(info(kind).parameters); }

std::string name_of(UnaryKind kind, DType dtype) { return std::string(to_string(kind)) + "_" + std::string(to_string(dtype)); }

void floats(const OpCall& call, DType dtype, UnaryParams params) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const UnaryKind kind = params.kind;
  // A bound that is not a number bounds nothing.
  if (kind == UnaryKind::clamp && std::isnan(params.a)) params.a = -kInfinity;
  if (kind == UnaryKind::clamp && std::isnan(params.b)) params.b = kInfinity;
  const Type type = kernels::compute_type(dtype);
  Arguments numbers;
  if (parameter_count(kind) > 0) numbers.number_as(type, params.a);
  if (parameter_count(kind) > 1) numbers.number_as(type, params.b);
  const auto make = [&] {
    return kernels::Elementwise{
        name_of(kind, dtype),  {dtype}, dtype,
        parameter_count(kind), type,    [kind](auto x, auto p) {
                                  return select(kernels::is_nan(x[0]), x[0], float_value(kind, x[0], p)); }};
  };
  launch_elementwise(call, {"unary", {static_cast<uint32_t>(kind), number_of(dtype)}}, make, has_quads(dtype), numbers);
}

// What a number becomes in an integer dtype.
int64_t saturated(DType dtype, double value) {
  const int bits = static_cast<int>(8 * info(dtype).block_bytes);
  const bool is_signed = dtype != DType::u8 && dtype != DType::u32;
  const double end = std::ldexp(1.0, is_signed ? bits - 1 : bits), low = is_signed ? -end : 0;
  if (value <= low) return static_cast<int64_t>(low);
  if (value < end) return static_cast<int64_t>(value);
  return end == 0x1p63 ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(end) - 1;
}

// Whether a · x + b is exact in i64 for every x of up to 32 bits.
bool is_whole_affine(DType dtype, const UnaryParams& params) {
  const auto is_whole = [](double value, double end) { return std::fabs(value) < end && value == std::trunc(value); };
  return dtype != DType::i64 && is_whole(params.a, 0x1p30) && is_whole(params.b, 0x1p62);
}

// Its definition is in f64. Where the device has none, whole factors give the same in i64.
void whole_affine(const OpCall& call, DType dtype, const UnaryParams& params) {
  const DeviceCaps& caps = call.runtime->caps();
  const bool whole = !caps.f64_arithmetic && caps.int64 && is_whole_affine(dtype, params);
  if (!caps.f64_arithmetic && !whole) {
    fail(ErrorCode::unsupported, "affine: {} by {} and {} is computed in f64, and {}; convert to f32 first", to_string(dtype), params.a,
         params.b, missing_ability(caps, DType::f64));
  }
  const auto make = [&] {
    return kernels::Elementwise{name_of(UnaryKind::affine, dtype), {dtype}, dtype, 2, whole ? Type::i64 : Type::f64, [&](auto x, auto p) {
                                  const Value y = cast(p[0].type(), x[0]) * p[0] + p[1];
                                  if (!whole) return kernels::convert(y, DType::f64, dtype);
                                  const auto limit = [&](double value) {
                                    return y.builder()->number_of(Type::i64, 0, saturated(dtype, value));
                                  };
                                  return cast(kernels::compute_type(dtype), min(max(y, limit(-0x1p40)), limit(0x1p40)));
                                }};
  };
  Arguments numbers;
  for (const double number : {params.a, params.b}) {
    numbers.wide(whole ? static_cast<uint64_t>(static_cast<int64_t>(number)) : std::bit_cast<uint64_t>(number));
  }
  launch_elementwise(call, {"unary", {static_cast<uint32_t>(UnaryKind::affine), number_of(dtype)}}, make, false, numbers);
}

// min(max(x, a), b), then towards zero: x between the whole numbers that lie inside, else what a or b becomes. All of it exact in integers.
void whole_clamp(const OpCall& call, DType dtype, const UnaryParams& params) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double a = std::isnan(params.a) ? -kInfinity : params.a, b = std::isnan(params.b) ? kInfinity : params.b;
  std::array<int64_t, 4> limits{saturated(dtype, std::ceil(a)), saturated(dtype, a), saturated(dtype, std::floor(b)), saturated(dtype, b)};
  // Where a is above b, all become b.
  if (a > b) limits = {saturated(dtype, kInfinity), limits[3], saturated(dtype, -kInfinity), limits[3]};
  const Type type = kernels::compute_type(dtype);
  Arguments numbers;
  for (const int64_t limit : limits) {
    if (type == Type::i64) {
      numbers.wide(static_cast<uint64_t>(limit));
    } else {
      numbers.bits(static_cast<uint32_t>(limit));
    }
  }
  const auto make = [&] {
    return kernels::Elementwise{name_of(UnaryKind::clamp, dtype), {dtype}, dtype, 4, type, [](auto x, auto p) {
                                  return select(x[0] < p[0], p[1], select(x[0] > p[2], p[3], x[0]));
                                }};
  };
  launch_elementwise(call, {"unary", {static_cast<uint32_t>(UnaryKind::clamp), number_of(dtype)}}, make, false, numbers);
}

}  // namespace

void unary(const OpCall& call) {
  const auto& params = call.parameters<UnaryParams>();
  const DType dtype = call.inputs[0].dtype;
  if (is_float(dtype)) return floats(call, dtype, params);
  if (params.kind == UnaryKind::affine) return whole_affine(call, dtype, params);
  if (params.kind == UnaryKind::clamp) return whole_clamp(call, dtype, params);
  const auto make = [&] {
    return kernels::Elementwise{
        name_of(params.kind, dtype), {dtype}, dtype, 0, Type::u32, [&](auto x, auto /*p*/) { return whole_value(params.kind, x[0]); }};
  };
  launch_elementwise(call, {"unary", {static_cast<uint32_t>(params.kind), number_of(dtype)}}, make, false);
}

}  // namespace wick::launchers
