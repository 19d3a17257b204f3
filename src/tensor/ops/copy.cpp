#include "tensor/ops/copy.h"

#include "base/error.h"
#include "tensor/ops/dispatch.h"
#include "tensor/ops/op_rule.h"

namespace wick {
namespace {

void reference(const void* /*params*/, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  outputs[0].values = inputs[0].values;
}

}  // namespace

const OpRule kCopyRule = {OpId::copy, 0, reference};

void copy(const Tensor& source, const Tensor& target) {
  if (is_quantized(target.dtype())) {
    fail(ErrorCode::unsupported, "copy: the target {} is quantized; quantize on the host instead", target.describe());
  }
  if (source.shape() != target.shape()) {
    fail(ErrorCode::shape_mismatch, "copy: source {} and target {} differ in shape", source.describe(), target.describe());
  }
  if (source.elements() == 0) return;
  dispatch(OpId::copy, nullptr, {&source}, {&target});
}

Tensor to_dtype(const Tensor& source, DType dtype) {
  Tensor result = Tensor::empty(source.shape(), dtype, source.device());
  copy(source, result);
  return result;
}

}  // namespace wick
