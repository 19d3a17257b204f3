#include "tensor/ops/normalize.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "tensor/ops/copy.h"
#include "tensor/ops/dispatch.h"
#include "tensor/ops/op_rule.h"

namespace wick {
namespace {

// Calls body(row's values, row number) for each row along the last dimension.
template <class Body>
void for_each_row(const ReferenceTensor& tensor, Body&& body) {
  const auto length = static_cast<size_t>(tensor.shape.last());
  for (size_t row = 0; length > 0 && row * length < tensor.values.size(); ++row)
    body(std::span(tensor.values).subspan(row * length, length), row);
}

void softmax_reference(const void* /*params*/, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  for_each_row(inputs[0], [&](std::span<const double> x, size_t row) {
    const double largest = *std::max_element(x.begin(), x.end());
    double sum = 0;
    for (const double value : x) sum += std::exp(value - largest);
    double* y = outputs[0].values.data() + row * x.size();
    for (size_t i = 0; i < x.size(); ++i) y[i] = std::exp(x[i] - largest) / sum;
  });
}

void argmax_reference(const void* /*params*/, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  for_each_row(inputs[0], [&](std::span<const double> x, size_t row) {
    size_t best = 0;
    for (size_t i = 0; i < x.size() && !std::isnan(x[best]); ++i) {
      if (x[i] > x[best] || std::isnan(x[i])) best = i;
    }
    outputs[0].values[row] = static_cast<double>(best);
  });
}

void rms_norm_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const double epsilon = static_cast<const RmsNormParams*>(params)->epsilon;
  for_each_row(inputs[0], [&](std::span<const double> x, size_t row) {
    double squares = 0;
    for (const double value : x) squares += value * value;
    const double scale = 1 / std::sqrt(squares / static_cast<double>(x.size()) + epsilon);
    double* y = outputs[0].values.data() + row * x.size();
    for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * scale * inputs[1].values[i];
  });
}

void check_float(const Tensor& x, const char* op) {
  if (!is_float(x.dtype())) fail(ErrorCode::unsupported, "{}: not defined for {}; convert it to a float dtype first", op, x.describe());
}

}  // namespace

const OpRule kSoftmaxRule = {OpId::softmax, 0, softmax_reference};
const OpRule kArgmaxRule = {OpId::argmax, 0, argmax_reference};
const OpRule kRmsNormRule = {OpId::rms_norm, 0, rms_norm_reference};

Tensor softmax_last_dim(const Tensor& x) {
  check_float(x, "softmax");
  Tensor result = Tensor::empty(x.shape(), x.dtype(), x.device());
  if (x.elements() > 0) dispatch(OpId::softmax, nullptr, {&x}, {&result});
  return result;
}

Tensor argmax_last_dim(const Tensor& x) {
  if (is_quantized(x.dtype())) fail(ErrorCode::unsupported, "argmax: not defined for {}", x.describe());
  if (x.rank() == 0 || x.shape().last() == 0)
    fail(ErrorCode::shape_mismatch, "argmax: {} has no element along its last dimension", x.describe());
  Tensor result = Tensor::empty(Shape(x.shape().dims().first(static_cast<size_t>(x.rank() - 1))), DType::u32, x.device());
  if (x.elements() > 0) dispatch(OpId::argmax, nullptr, {&x}, {&result});
  return result;
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, float epsilon) {
  check_float(x, "rms_norm");
  if (weight.rank() != 1 || x.rank() == 0 || weight.shape()[0] != x.shape().last()) {
    fail(ErrorCode::shape_mismatch, "rms_norm: x {} and weight {}: the weight must be [{}]", x.describe(), weight.describe(),
         x.shape().last());
  }
  if (!is_float(weight.dtype())) fail(ErrorCode::dtype_mismatch, "rms_norm: weight {} must be a float tensor", weight.describe());
  Tensor result = Tensor::empty(x.shape(), x.dtype(), x.device());
  const RmsNormParams params{epsilon};
  // Implementations read the weight as f32 (f64 for f64); it is one row.
  const DType wide = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const Tensor scale = weight.dtype() == wide ? weight.contiguous() : to_dtype(weight, wide);
  if (x.elements() > 0) dispatch(OpId::rms_norm, &params, {&x, &scale}, {&result});
  return result;
}

}  // namespace wick
