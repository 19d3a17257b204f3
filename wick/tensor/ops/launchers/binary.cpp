#include "wick/base/fail.h"
#include "wick/kernels/math.h"
#include "wick/kernels/numbers.h"
#include "wick/tensor/ops/launchers/launcher.h"
#include "wick/tensor/ops/launchers/launchers.h"

namespace wick::launchers {
namespace {

using ir::Type;
using ir::Value;
using ir::Variable;

// NaN in either operand gives NaN.
Value smaller(const Value& a, const Value& b) { return select(kernels::is_nan(a), a, select(kernels::is_nan(b), b, select(a < b, a, b))); }
Value larger(const Value& a, const Value& b) { return select(kernels::is_nan(a), a, select(kernels::is_nan(b), b, select(a < b, b, a))); }

// A device may multiply by 1 / b, and count that as zero where it is subnormal: such a b is made smaller, and a with it.
Value ratio(const Value& a, const Value& b, const DeviceCaps& caps) {
  if (caps.f32_subnormals || a.type() != Type::f32) return a / b;
  const Value factor = select(abs(b) > 0x1p125F, a.builder()->constant(0x1p-24F), 1.0F);
  return (a * factor) / (b * factor);
}

// C's remainder, moved to the divisor's sign.
Value floor_remainder(const Value& a, const Value& b) {
  const Value rest = kernels::fmod(a, b);
  return select((rest != 0.0) & ((rest < 0.0) != (b < 0.0)), rest + b, rest);
}

// a less its remainder is a whole number of times b, but for roundings, which the nearest whole number undoes. A zero has the sign that a
// quotient of a and b has.
Value floor_quotient(const Value& a, const Value& b, const DeviceCaps& caps) {
  const Value rest = kernels::fmod(a, b), plain = ratio(a, b, caps);
  const Value below = select((rest != 0.0) & ((rest < 0.0) != (b < 0.0)), a.builder()->number_of(a.type(), 1, 0), 0.0);
  const Value whole = kernels::round(ratio(a - rest, b, caps) - below);
  const Value zero = select(plain < 0.0, -(rest * 0.0), rest * 0.0);
  return select(b == 0.0, plain, select(kernels::is_nan(rest), rest, select(whole == 0.0, zero, whole)));
}

Value float_value(BinaryKind kind, const Value& a, const Value& b, const DeviceCaps& caps) {
  switch (kind) {
    case BinaryKind::add: return a + b;
    case BinaryKind::sub: return a - b;
    case BinaryKind::mul: return a * b;
    case BinaryKind::div: return ratio(a, b, caps);
    case BinaryKind::minimum: return smaller(a, b);
    case BinaryKind::maximum: return larger(a, b);
    case BinaryKind::pow: return kernels::pow(a, b);
    case BinaryKind::fmod: return kernels::fmod(a, b);
    case BinaryKind::remainder: return floor_remainder(a, b);
    case BinaryKind::floor_divide: return floor_quotient(a, b, caps);
    case BinaryKind::atan2: return kernels::atan2(a, b);
  }
  assertion_failed("a binary function of no kind");
}

// A division by zero gives 0; by -1 it wraps around where a negation does.
Value quotient(const Value& a, const Value& b) {
  const auto number = [&](int64_t value) { return a.builder()->number_of(a.type(), 0, value); };
  const bool is_signed = a.type() != Type::u32;
  const Value minus_one = is_signed ? b == number(-1) : b == number(0);
  const Value divisor = select((b == number(0)) | minus_one, number(1), b);
  const Value result = select(b == number(0), number(0), a / divisor);
  return is_signed ? select(minus_one, number(0) - a, result) : result;
}

// What division toward zero leaves, or with the divisor's sign that toward minus infinity; 0 of a division by zero.
Value rest_of(const Value& a, const Value& b, bool signed_by_divisor) {
  const auto number = [&](int64_t value) { return a.builder()->number_of(a.type(), 0, value); };
  const bool is_signed = a.type() != Type::u32;
  const Value none = is_signed ? (b == number(0)) | (b == number(-1)) : b == number(0);
  const Value rest = select(none, number(0), a % select(none, number(1), b));
  if (!is_signed || !signed_by_divisor) return rest;
  return select((rest != number(0)) & ((rest < number(0)) != (b < number(0))), rest + b, rest);
}

// By squaring, in two's complement. Of the powers with negative exponents those of 1 and -1 are whole.
Value power(const Value& base, const Value& exponent) {
  ir::KernelBuilder& k = *base.builder();
  const auto number = [&](int64_t value) { return k.number_of(base.type(), 0, value); };
  Variable result = k.variable(number(1)), square = k.variable(base), rest = k.variable(exponent);
  k.loop(0, base.type() == Type::i64 ? 64 : 32, 1, [&](const Value& /*bit*/) {
    const Value last = Value(rest) & number(1);
    result = Value(result) * select(last == number(1), Value(square), number(1));
    square = Value(square) * Value(square);
    rest = Value(rest) >> 1;
  });
  if (base.type() == Type::u32) return result;
  const Value is_odd = (exponent & number(1)) == number(1);
  const Value of_minus_one = select(is_odd, number(-1), number(1));
  const Value fraction = select(base == number(1), number(1), select(base == number(-1), of_minus_one, number(0)));
  return select(exponent < number(0), fraction, result);
}

Value whole_value(BinaryKind kind, const Value& a, const Value& b) {
  switch (kind) {
    case BinaryKind::add: return a + b;
    case BinaryKind::sub: return a - b;
    case BinaryKind::mul: return a * b;
    case BinaryKind::div: return quotient(a, b);
    case BinaryKind::minimum: return min(a, b);
    case BinaryKind::maximum: return max(a, b);
    case BinaryKind::pow: return power(a, b);
    case BinaryKind::fmod: return rest_of(a, b, false);
    case BinaryKind::remainder: return rest_of(a, b, true);
    case BinaryKind::floor_divide: {
      const Value whole = quotient(a, b);
      if (a.type() == Type::u32) return whole;
      const auto number = [&](int64_t value) { return a.builder()->number_of(a.type(), 0, value); };
      const Value below = (rest_of(a, b, false) != number(0)) & ((a < number(0)) != (b < number(0)));
      return select(below, whole - number(1), whole);
    }
    case BinaryKind::atan2: break;
  }
  assertion_failed("a binary function of no kind");
}

}  // namespace

void binary(const OpCall& call) {
  const BinaryKind kind = call.parameters<BinaryParams>().kind;
  const DType dtype = call.inputs[0].dtype;
  const auto make = [&] {
    const std::string name = std::string(to_string(kind)) + "_" + std::string(to_string(dtype));
    return kernels::Elementwise{name, {dtype, dtype}, dtype, 0, Type::u32, [&](auto x, auto /*p*/) {
                                  return is_float(dtype) ? float_value(kind, x[0], x[1], call.runtime->caps())
                                                         : whole_value(kind, x[0], x[1]);
                                }};
  };
  const bool quads = dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
  launch_elementwise(call, {"binary", {static_cast<uint32_t>(kind), number_of(dtype)}}, make, quads);
}

}  // namespace wick::launchers
