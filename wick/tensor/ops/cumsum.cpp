// cumsum: running sums along a dimension, which a view moves to the end.
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/index_ids.h"

namespace wick {
namespace {

void cumsum_reference(const void* /*params*/, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const ReferenceTensor& x = inputs[0];
  const auto length = static_cast<size_t>(x.shape.last());
  double sum = 0;
  for (size_t at = 0; at < x.values.size(); ++at) {
    sum = at % length == 0 ? x.values[at] : added(x.dtype, sum, x.values[at]);
    outputs[0].values[at] = sum;
  }
}

void cumsum_gradient(GradientContext& context) { context.give(0, context.gradient().flip(-1).cumsum(-1).flip(-1)); }

}  // namespace

const OpRule rules::cumsum = {.defining_operand = 0,
                              .reference = cumsum_reference,
                              .unsupported = refuse_quantized,
                              .gradient_kind = GradientKind::function,
                              .gradient = cumsum_gradient};

Tensor Tensor::cumsum(int dim) const {
  check_assigned("cumsum", *this);
  check_dtype(OpId::cumsum, "cumsum", *this);
  const int axis = resolve_dim("cumsum", dim, shape());
  const Tensor moved = axis == rank() - 1 ? *this : transpose(axis, -1);
  const Tensor result = make_result("cumsum", shape(), dtype(), device());
  Tensor sums = axis == rank() - 1 ? result : result.transpose(axis, -1);
  apply(OpId::cumsum, {&moved}, {&sums});
  return axis == rank() - 1 ? sums : sums.transpose(axis, -1);
}

}  // namespace wick
