#include "tensor/ops/rope.h"

#include "base/error.h"
#include "tensor/ops/by_kernel/by_kernel.h"
#include "tensor/ops/dispatch.h"
#include "tensor/ops/op_rule.h"

namespace wick {
namespace {

void reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const RopeStyle style = static_cast<const RopeParams*>(params)->style;
  const auto heads = static_cast<size_t>(inputs[0].shape[1]);
  const auto head_dim = static_cast<size_t>(inputs[0].shape[2]);
  const auto pairs = static_cast<size_t>(inputs[1].shape[1]);
  outputs[0].values = inputs[0].values;
  for (size_t row = 0; row * head_dim < inputs[0].values.size(); ++row) {
    double* y = outputs[0].values.data() + row * head_dim;
    const double* angles = inputs[1].values.data() + row / heads * pairs * 2;
    for (size_t pair = 0; pair < pairs; ++pair) {
      const size_t first = style == RopeStyle::interleaved ? 2 * pair : pair;
      const size_t second = style == RopeStyle::interleaved ? 2 * pair + 1 : pair + pairs;
      const double a = y[first];
      const double b = y[second];
      y[first] = a * angles[2 * pair] - b * angles[2 * pair + 1];
      y[second] = a * angles[2 * pair + 1] + b * angles[2 * pair];
    }
  }
}

// A rotation's adjoint is the rotation back: the sines change their sign.
void gradient(GradientContext& context) {
  const Tensor table = context.input(1);
  if (context.wants(1)) {
    fail(ErrorCode::unsupported, "rope: the table of angles {} is tracked, and has no gradient; detach it", table.describe());
  }
  const Tensor back = table * Tensor::of<float>({1, -1}, table.device());
  context.give(0, rope(context.gradient(), back, context.parameters<RopeParams>().style));
}

}  // namespace

const OpRule kRopeRule = {.op = OpId::rope,
                          .defining_operand = 0,
                          .reference = reference,
                          .hole = refuse_all_but_floats,
                          .gradient_kind = GradientKind::function,
                          .gradient = gradient,
                          .by_kernel = by_kernel::rope};

Tensor rope(const Tensor& x, const Tensor& table, RopeStyle style) {
  const bool fits = x.rank() == 3 && table.rank() == 3 && table.shape()[0] == x.shape()[0] && table.shape()[2] == 2 &&
                    2 * table.shape()[1] <= x.shape()[2];
  if (!fits) {
    fail(ErrorCode::shape_mismatch, "rope: x {} must be [tokens, heads, head_dim] and table {} [tokens, pairs, 2] with 2·pairs ≤ head_dim",
         x.describe(), table.describe());
  }
  if (!is_float(x.dtype()) || table.dtype() != DType::f32) {
    fail(ErrorCode::dtype_mismatch, "rope: x {} must be a float tensor and table {} f32", x.describe(), table.describe());
  }
  Tensor result = Tensor::empty(x.shape(), x.dtype(), x.device());
  const RopeParams params{style};
  apply(OpId::rope, params, {&x, &table}, {&result});
  return result;
}

}  // namespace wick
