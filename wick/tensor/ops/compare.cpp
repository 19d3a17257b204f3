// compare and where_cond: masks, and choices by them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/binary.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/op_rule.h"

namespace wick {
namespace {

bool holds(CompareKind kind, double lhs, double rhs) {
  switch (kind) {
    case CompareKind::eq: return lhs == rhs;
    case CompareKind::ne: return lhs != rhs;
    case CompareKind::le: return lhs <= rhs;
    case CompareKind::ge: return lhs >= rhs;
    case CompareKind::lt: return lhs < rhs;
    case CompareKind::gt: return lhs > rhs;
  }
  return false;
}

void compare_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const CompareKind kind = static_cast<const CompareParams*>(params)->kind;
  for (size_t i = 0; i < outputs[0].values.size(); ++i) {
    outputs[0].values[i] = holds(kind, inputs[0].values[i], inputs[1].values[i]) ? 1 : 0;
  }
}

void where_reference(const void* /*params*/, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  for (size_t i = 0; i < outputs[0].values.size(); ++i) {
    outputs[0].values[i] = inputs[0].values[i] != 0 ? inputs[1].values[i] : inputs[2].values[i];
  }
}

void where_gradient(GradientContext& context) {
  const Tensor& g = context.gradient();
  const Tensor condition = context.input(0);
  if (context.wants(1)) context.give(1, condition.where_cond(g, g.zeros_like()));
  if (context.wants(2)) context.give(2, condition.where_cond(g.zeros_like(), g));
}

struct ScalarComparison {
  CompareKind kind;
  double other;
};

// The smallest and the largest number of a dtype that is a double too.
std::pair<double, double> bounds_of(DType dtype) {
  switch (dtype) {
    case DType::u8: return {0, 255};
    case DType::u32: return {0, 4294967295.0};
    case DType::i8: return {-128, 127};
    case DType::i16: return {-32768, 32767};
    case DType::i32: return {-2147483648.0, 2147483647.0};
    case DType::i64: return {-0x1p63, 0x1.fffffffffffffp62};
    case DType::bf16: return {-0x1.fep127, 0x1.fep127};
    case DType::f16: return {-65504, 65504};
    case DType::f32: return {-0x1.fffffep127, 0x1.fffffep127};
    case DType::f8e4m3: return {-448, 448};
    default: return {-std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
  }
}

// The comparison by value of elements of the dtype with any number, as a comparison with a number that the dtype has: 3 < 3.5 asks what
// 3 <= 3 does. A float dtype's numbers lie dense: within its range, `other` is rounded to it.
ScalarComparison representable(CompareKind kind, double other, DType dtype) {
  const auto [low, high] = bounds_of(dtype);
  const bool whole = is_integer(dtype);
  const ScalarComparison never = whole ? ScalarComparison{CompareKind::lt, low} : ScalarComparison{CompareKind::eq, NAN};
  const ScalarComparison always = whole ? ScalarComparison{CompareKind::ge, low} : ScalarComparison{CompareKind::ne, NAN};
  if (std::isnan(other)) return kind == CompareKind::ne ? always : never;
  const bool has_infinity = !whole && dtype != DType::f8e4m3;
  const bool outside = (other < low || other > high) && !(std::isinf(other) && has_infinity);
  const bool between = whole && other != std::floor(other);
  if (!outside && !between) return {kind, other};
  if (kind == CompareKind::eq) return never;
  if (kind == CompareKind::ne) return always;
  const bool less = kind == CompareKind::lt || kind == CompareKind::le;
  if (!outside) return less ? ScalarComparison{CompareKind::le, std::floor(other)} : ScalarComparison{CompareKind::ge, std::ceil(other)};
  if (whole) return less == (other > high) ? always : never;
  // Infinite elements lie beyond `other`, all finite ones on one side of it.
  if (other > high) return {less ? CompareKind::le : CompareKind::gt, high};
  return {less ? CompareKind::lt : CompareKind::ge, low};
}

}  // namespace

const OpRule rules::compare = {
    .defining_operand = 0, .reference = compare_reference, .unsupported = refuse_quantized, .gradient_kind = GradientKind::none};
const OpRule rules::where_cond = {.defining_operand = 1,
                                  .reference = where_reference,
                                  .unsupported = refuse_quantized,
                                  .gradient_kind = GradientKind::function,
                                  .gradient = where_gradient};

Tensor Tensor::compare(CompareKind kind, const Tensor& other) const {
  const std::string_view name = to_string(kind);
  check_assigned(name, {{"lhs", *this}, {"rhs", other}});
  check_dtype(OpId::compare, name, *this);
  const Shape common = broadcast_operands(name, *this, other);
  Tensor result = make_result(name, common, DType::u8, device());
  const Tensor left = detach().broadcast_to(common);
  const Tensor right = other.detach().broadcast_to(common);
  apply(OpId::compare, CompareParams{kind}, {&left, &right}, {&result});
  return result;
}

Tensor Tensor::compare(CompareKind kind, double other) const {
  check_assigned(to_string(kind), *this);
  const ScalarComparison same = representable(kind, other, dtype());
  return compare(same.kind, Tensor::full({}, same.other, dtype(), device()));
}

Tensor Tensor::where_cond(const Tensor& on_true, const Tensor& on_false) const {
  check_assigned("where_cond", {{"the tensor", *this}, {"on_true", on_true}, {"on_false", on_false}});
  if (dtype() != DType::u8 && dtype() != DType::u32 && dtype() != DType::i64) {
    fail(ErrorCode::dtype_mismatch, "where_cond: the condition {} must be u8, u32 or i64", describe());
  }
  check_dtype(OpId::where_cond, "where_cond", on_true);
  const Shape common = broadcast_shapes(shape(), broadcast_operands("where_cond", on_true, on_false), "where_cond");
  Tensor result = make_result("where_cond", common, on_true.dtype(), device());
  const Tensor condition = broadcast_to(common);
  const Tensor left = on_true.broadcast_to(common);
  const Tensor right = on_false.broadcast_to(common);
  apply(OpId::where_cond, {&condition, &left, &right}, {&result});
  return result;
}

}  // namespace wick
