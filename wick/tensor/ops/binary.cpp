#include "wick/tensor/ops/binary.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "wick/base/fail.h"
#include "wick/op/division.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/op_rule.h"
#include "wick/tensor/ops/reference.h"

namespace wick {
namespace {

// NaN in either operand gives NaN, as PyTorch's minimum and maximum do.
double pick(double lhs, double rhs, bool smaller) {
  if (std::isnan(lhs) || std::isnan(rhs)) return std::numeric_limits<double>::quiet_NaN();
  return (lhs < rhs) == smaller ? lhs : rhs;
}

double apply(BinaryKind kind, double lhs, double rhs) {
  switch (kind) {
    case BinaryKind::add: return lhs + rhs;
    case BinaryKind::sub: return lhs - rhs;
    case BinaryKind::mul: return lhs * rhs;
    case BinaryKind::div: return lhs / rhs;
    case BinaryKind::minimum: return pick(lhs, rhs, true);
    case BinaryKind::maximum: return pick(lhs, rhs, false);
    case BinaryKind::pow: return std::pow(lhs, rhs);
    case BinaryKind::fmod: return std::fmod(lhs, rhs);
    case BinaryKind::remainder: return floor_remainder(lhs, rhs);
    case BinaryKind::floor_divide: return floor_quotient(lhs, rhs);
    case BinaryKind::atan2: return std::atan2(lhs, rhs);
  }
  return 0;
}

// By squaring, in two's complement.
int64_t integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  uint64_t result = 1;
  uint64_t square = static_cast<uint64_t>(base);
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= square;
    square *= square;
  }
  return static_cast<int64_t>(result);
}

// Two's complement, wrapping around; a division by zero gives 0. Operands beyond 2^53 are no longer exact here.
int64_t apply_integer(BinaryKind kind, int64_t lhs, int64_t rhs) {
  const auto left = static_cast<uint64_t>(lhs);
  const auto right = static_cast<uint64_t>(rhs);
  switch (kind) {
    case BinaryKind::add: return static_cast<int64_t>(left + right);
    case BinaryKind::sub: return static_cast<int64_t>(left - right);
    case BinaryKind::mul: return static_cast<int64_t>(left * right);
    case BinaryKind::div: return rhs == 0 ? 0 : rhs == -1 ? static_cast<int64_t>(0 - left) : lhs / rhs;
    case BinaryKind::minimum: return std::min(lhs, rhs);
    case BinaryKind::maximum: return std::max(lhs, rhs);
    case BinaryKind::pow: return integer_power(lhs, rhs);
    case BinaryKind::fmod: return rhs == 0 || rhs == -1 ? 0 : lhs % rhs;
    case BinaryKind::remainder: {
      if (rhs == 0 || rhs == -1) return 0;
      const int64_t rest = lhs % rhs;
      return rest != 0 && (rest < 0) != (rhs < 0) ? rest + rhs : rest;
    }
    case BinaryKind::floor_divide: {
      if (rhs == 0 || rhs == -1) return rhs == 0 ? 0 : static_cast<int64_t>(0 - left);
      return lhs / rhs - (lhs % rhs != 0 && (lhs < 0) != (rhs < 0) ? 1 : 0);
    }
    case BinaryKind::atan2: return 0;  // of floats only
  }
  return 0;
}

void binary_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const BinaryKind kind = static_cast<const BinaryParams*>(params)->kind;
  const DType dtype = outputs[0].dtype;
  if (is_integer(dtype)) {
    for (size_t i = 0; i < outputs[0].values.size(); ++i) {
      const int64_t value = apply_integer(kind, as_integer(inputs[0].values[i]), as_integer(inputs[1].values[i]));
      outputs[0].values[i] = wrap_integer(dtype, value);
    }
    return;
  }
  for (size_t i = 0; i < outputs[0].values.size(); ++i) outputs[0].values[i] = apply(kind, inputs[0].values[i], inputs[1].values[i]);
}

// 1 where lhs is the one chosen, 1/2 where both are equal, 0 elsewhere: the gradient of a tie is shared.
Tensor share_of_left(BinaryKind kind, const Tensor& lhs, const Tensor& rhs, DType dtype) {
  const CompareKind better = kind == BinaryKind::minimum ? CompareKind::lt : CompareKind::gt;
  return lhs.compare(better, rhs).to_dtype(dtype) + lhs.eq(rhs).to_dtype(dtype) * 0.5;
}

void pow_gradient(GradientContext& context) {
  const Tensor& g = context.gradient();
  const Tensor base = context.input(0);
  const Tensor exponent = context.input(1);
  if (context.wants(0)) {
    const Tensor slope = exponent * base.pow(exponent - 1.0);
    context.give(0, exponent.eq(0).where_cond(g.zeros_like(), g * slope));
  }
  if (context.wants(1)) {
    // 0^b does not depend on b > 0, although log 0 is not finite.
    const Tensor zero = base.eq(0).mul(exponent.ge(0));
    context.give(1, zero.where_cond(g.zeros_like(), g * context.output() * base.log()));
  }
}

void binary_gradient(GradientContext& context) {
  const Tensor& g = context.gradient();
  switch (const BinaryKind kind = context.parameters<BinaryParams>().kind) {
    case BinaryKind::add: context.give(0, g); return context.give(1, g);
    case BinaryKind::sub:
      context.give(0, g);
      if (context.wants(1)) context.give(1, g.neg());
      return;
    case BinaryKind::mul:
      if (context.wants(0)) context.give(0, g * context.input(1));
      if (context.wants(1)) context.give(1, g * context.input(0));
      return;
    case BinaryKind::div:
      if (context.wants(0)) context.give(0, g / context.input(1));
      if (context.wants(1)) context.give(1, (g * context.input(0) / context.input(1).sqr()).neg());
      return;
    case BinaryKind::minimum:
    case BinaryKind::maximum: {
      const Tensor share = share_of_left(kind, context.input(0), context.input(1), g.dtype());
      if (context.wants(0)) context.give(0, g * share);
      if (context.wants(1)) context.give(1, g * (1.0 - share));
      return;
    }
    case BinaryKind::pow: return pow_gradient(context);
    // lhs less a whole number of times rhs, which changes in steps.
    case BinaryKind::fmod:
    case BinaryKind::remainder:
      context.give(0, g);
      if (context.wants(1)) context.give(1, (g * ((context.input(0) - context.output()) / context.input(1)).round()).neg());
      return;
    case BinaryKind::floor_divide: context.give(0, g.zeros_like()); return context.give(1, g.zeros_like());
    case BinaryKind::atan2: {
      const Tensor y = context.input(0), x = context.input(1), squares = y.sqr() + x.sqr();
      const Tensor share = g / squares.masked_fill(squares.detach().eq(0.0), 1.0);  // at (0, 0) the gradient is 0
      if (context.wants(0)) context.give(0, share * x);
      if (context.wants(1)) context.give(1, (share * y).neg());
      return;
    }
  }
}

}  // namespace

const OpRule rules::binary = {.defining_operand = 0,
                              .reference = binary_reference,
                              .unsupported = refuse_quantized,
                              .gradient_kind = GradientKind::function,
                              .gradient = binary_gradient};

Shape broadcast_operands(std::string_view name, const Tensor& lhs, const Tensor& rhs) {
  if (lhs.dtype() != rhs.dtype()) {
    fail(ErrorCode::dtype_mismatch, "{}: lhs {} and rhs {} differ in dtype; convert one", name, lhs.describe(), rhs.describe());
  }
  return lhs.shape() == rhs.shape() ? lhs.shape() : broadcast_shapes(lhs.shape(), rhs.shape(), name);
}

Tensor binary(BinaryKind kind, const Tensor& lhs, const Tensor& rhs) {
  const std::string_view name = to_string(kind);
  check_assigned(name, {{"lhs", lhs}, {"rhs", rhs}});
  check_dtype(OpId::binary, name, lhs);
  if (is_integer(lhs.dtype()) && info(kind).domain == Domain::floats) {
    fail(ErrorCode::unsupported, "{}: not defined for {}: {}", name, lhs.describe(), kFloatsOnly);
  }
  const Shape shape = broadcast_operands(name, lhs, rhs);
  Tensor result = make_result(name, shape, lhs.dtype(), lhs.device());
  const BinaryParams params{kind};
  if (lhs.shape() == shape && rhs.shape() == shape) {
    apply(OpId::binary, params, {&lhs, &rhs}, {&result});
  } else {
    const Tensor left = lhs.broadcast_to(shape);
    const Tensor right = rhs.broadcast_to(shape);
    apply(OpId::binary, params, {&left, &right}, {&result});
  }
  return result;
}

Tensor Tensor::add(const Tensor& other) const { return binary(BinaryKind::add, *this, other); }
Tensor Tensor::sub(const Tensor& other) const { return binary(BinaryKind::sub, *this, other); }
Tensor Tensor::mul(const Tensor& other) const { return binary(BinaryKind::mul, *this, other); }
Tensor Tensor::div(const Tensor& other) const { return binary(BinaryKind::div, *this, other); }
Tensor Tensor::pow(const Tensor& other) const { return binary(BinaryKind::pow, *this, other); }
Tensor Tensor::fmod(const Tensor& other) const { return binary(BinaryKind::fmod, *this, other); }
Tensor Tensor::remainder(const Tensor& other) const { return binary(BinaryKind::remainder, *this, other); }
Tensor Tensor::floor_divide(const Tensor& other) const { return binary(BinaryKind::floor_divide, *this, other); }
Tensor Tensor::atan2(const Tensor& other) const { return binary(BinaryKind::atan2, *this, other); }
Tensor Tensor::fmod(double other) const {
  check_assigned("fmod", *this);
  return fmod(Tensor::full({}, other, dtype(), device()));
}
Tensor Tensor::remainder(double other) const {
  check_assigned("remainder", *this);
  return remainder(Tensor::full({}, other, dtype(), device()));
}
Tensor Tensor::floor_divide(double other) const {
  check_assigned("floor_divide", *this);
  return floor_divide(Tensor::full({}, other, dtype(), device()));
}
Tensor Tensor::minimum(const Tensor& other) const { return binary(BinaryKind::minimum, *this, other); }
Tensor Tensor::maximum(const Tensor& other) const { return binary(BinaryKind::maximum, *this, other); }
Tensor Tensor::minimum(double other) const {
  check_assigned("minimum", *this);
  return minimum(Tensor::full({}, other, dtype(), device()));
}
Tensor Tensor::maximum(double other) const {
  check_assigned("maximum", *this);
  return maximum(Tensor::full({}, other, dtype(), device()));
}

}  // namespace wick
