#include "tensor/ops/fill.h"

#include <algorithm>

#include "base/error.h"
#include "tensor/ops/dispatch.h"
#include "tensor/ops/op_rule.h"

namespace wick {
namespace {

void reference(const void* params, std::span<const ReferenceTensor> /*inputs*/, std::span<ReferenceTensor> outputs) {
  std::fill(outputs[0].values.begin(), outputs[0].values.end(), static_cast<const FillParams*>(params)->value);
}

}  // namespace

const OpRule kFillRule = {OpId::fill, kFirstOutput, reference};

void fill(const Tensor& target, double value) {
  if (is_quantized(target.dtype()))
    fail(ErrorCode::unsupported, "fill: {} is quantized; a single value has no block form", target.describe());
  const FillParams params{value};
  dispatch(OpId::fill, &params, {}, {&target});
}

}  // namespace wick
