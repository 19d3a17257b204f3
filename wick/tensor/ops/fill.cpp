#include "wick/tensor/ops/fill.h"

#include <algorithm>

#include "wick/base/error.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/copy.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/op_rule.h"

namespace wick {
namespace {

void fill_reference(const void* params, std::span<const ReferenceTensor> /*inputs*/, std::span<ReferenceTensor> outputs) {
  std::fill(outputs[0].values.begin(), outputs[0].values.end(), static_cast<const FillParams*>(params)->value);
}

std::string_view fill_unsupported(DType dtype) { return is_quantized(dtype) ? "a single value has no block form" : ""; }

}  // namespace

const OpRule rules::fill = {
    .defining_operand = kFirstOutput, .reference = fill_reference, .unsupported = fill_unsupported, .gradient_kind = GradientKind::none};

void fill(const Tensor& target, double value, std::string_view function) {
  check_assigned(function, target);
  check_dtype(OpId::fill, function, target);
  refuse_tracked(function, {&target});
  const FillParams params{value};
  dispatch(OpId::fill, &params, {}, {&target});
}

void Tensor::const_set(double value) const { fill(*this, value, "const_set"); }

}  // namespace wick
