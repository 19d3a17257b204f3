#include "wick/tensor/ops/copy.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/op_rule.h"
#include "wick/tensor/ops/reference.h"

namespace wick {
namespace {

void copy_reference(const void* /*params*/, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  outputs[0].values = inputs[0].values;
  if (!is_integer(inputs[0].dtype) || !is_integer(outputs[0].dtype)) return;
  for (double& value : outputs[0].values) value = wrap_integer(outputs[0].dtype, as_integer(value));
}

void copy_gradient(GradientContext& context) { context.give(0, context.gradient().to_dtype(context.input_dtype(0))); }

Tensor copied(std::string_view function, const Tensor& source, DType dtype) {
  if (is_quantized(dtype))
    fail(ErrorCode::unsupported, "to_dtype: {} to {}: quantize on the host instead", source.describe(), to_string(dtype));
  Tensor result = make_result(function, source.shape(), dtype, source.device());
  if (is_float(dtype)) {
    apply(OpId::copy, {&source}, {&result});
  } else {
    const Tensor untracked = source.detach();  // whole numbers have no derivative
    apply(OpId::copy, {&untracked}, {&result});
  }
  return result;
}

}  // namespace

const OpRule rules::copy = {
    .defining_operand = 0, .reference = copy_reference, .gradient_kind = GradientKind::function, .gradient = copy_gradient};

void refuse_tracked(std::string_view name, std::initializer_list<const Tensor*> tensors) {
  for (const Tensor* tensor : tensors) {
    if (!tensor->is_tracked()) continue;
    fail(ErrorCode::unsupported, "{}: {} is tracked, and a tape cannot see a write in place; detach it, or use a function that copies",
         name, tensor->describe());
  }
}

void refuse_repeated(std::string_view name, const Tensor& target) {
  if (target.elements() == 0) return;
  std::vector<std::pair<int64_t, int64_t>> steps;  // |stride| and extent
  for (int dim = 0; dim < target.rank(); ++dim) {
    if (target.shape()[dim] == 1) continue;
    if (target.layout().stride(dim) == 0) {
      fail(ErrorCode::invalid_argument, "{}: the target {} repeats its elements along dimension {}; write to a copy", name,
           target.describe(), dim);
    }
    steps.emplace_back(std::abs(target.layout().stride(dim)), target.shape()[dim]);
  }
  // Each dimension steps over all that the inner ones reach.
  std::sort(steps.begin(), steps.end());
  int64_t reach = 0;
  for (const auto& [stride, extent] : steps) {
    if (stride <= reach) {
      fail(ErrorCode::invalid_argument, "{}: elements of the target {} share memory; write to a copy", name, target.describe());
    }
    reach += stride * (extent - 1);
  }
}

void copy(const Tensor& source, const Tensor& target) {
  if (is_quantized(target.dtype()) && (target.dtype() != DType::q8_0 || source.dtype() != DType::f32)) {
    fail(ErrorCode::unsupported, "copy: the target {} is quantized, which works for f32 to q8_0 only; quantize on the host instead",
         target.describe());
  }
  if (source.shape() != target.shape()) {
    fail(ErrorCode::shape_mismatch, "copy: source {} and target {} differ in shape", source.describe(), target.describe());
  }
  refuse_tracked("copy", {&source, &target});
  dispatch(OpId::copy, nullptr, {&source}, {&target});
}

Tensor Tensor::to_dtype(DType dtype) const {
  check_assigned("to_dtype", *this);
  return dtype == this->dtype() ? *this : copied("to_dtype", *this, dtype);
}

Tensor Tensor::contiguous() const {
  check_assigned("contiguous", *this);
  return is_contiguous() ? *this : copy();
}

Tensor Tensor::copy() const {
  check_assigned("copy", *this);
  if (is_quantized(dtype())) {
    if (!is_contiguous())
      fail(ErrorCode::unsupported, "copy: {} is quantized and not row-major; convert it with to_dtype first", describe());
    return from_bytes(to_bytes(), shape(), dtype(), device());
  }
  return copied("copy", *this, dtype());
}

}  // namespace wick
