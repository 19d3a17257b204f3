// compare and where_cond: masks, and choices by them.
#include <algorithm>

#include "base/error.h"
#include "tensor/ops/binary.h"
#include "tensor/ops/dispatch.h"
#include "tensor/ops/op_rule.h"

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

}  // namespace

const OpRule kCompareRule = {.op = OpId::compare,
                             .defining_operand = 0,
                             .reference = compare_reference,
                             .hole = refuse_quantized,
                             .gradient_kind = GradientKind::none};
const OpRule kWhereCondRule = {.op = OpId::where_cond,
                               .defining_operand = 1,
                               .reference = where_reference,
                               .hole = refuse_quantized,
                               .gradient_kind = GradientKind::function,
                               .gradient = where_gradient};

Tensor Tensor::compare(CompareKind kind, const Tensor& other) const {
  const std::string_view name = kCompareNames[static_cast<size_t>(kind)];
  check_dtype(OpId::compare, name, *this);
  const Shape common = broadcast_operands(name, *this, other);
  Tensor result = Tensor::empty(common, DType::u8, device());
  const Tensor left = detach().broadcast_to(common);
  const Tensor right = other.detach().broadcast_to(common);
  apply(OpId::compare, CompareParams{kind}, {&left, &right}, {&result});
  return result;
}

Tensor Tensor::compare(CompareKind kind, double other) const { return compare(kind, Tensor::full({}, other, dtype(), device())); }

Tensor Tensor::where_cond(const Tensor& on_true, const Tensor& on_false) const {
  if (dtype() != DType::u8 && dtype() != DType::u32 && dtype() != DType::i64) {
    fail(ErrorCode::dtype_mismatch, "where_cond: the condition {} must be u8, u32 or i64", describe());
  }
  check_dtype(OpId::where_cond, "where_cond", on_true);
  const Shape common = broadcast_shapes(shape(), broadcast_operands("where_cond", on_true, on_false), "where_cond");
  Tensor result = Tensor::empty(common, on_true.dtype(), device());
  const Tensor condition = broadcast_to(common);
  const Tensor left = on_true.broadcast_to(common);
  const Tensor right = on_false.broadcast_to(common);
  apply(OpId::where_cond, {&condition, &left, &right}, {&result});
  return result;
}

}  // namespace wick
