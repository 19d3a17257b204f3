#include "wick/tensor/ops/normalize.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/op_rule.h"

namespace wick {
namespace {

// Calls body(row's values, row number) for each row along the last dimension.
template <class Body>
void for_each_row(const ReferenceTensor& tensor, Body&& body) {
  const auto length = static_cast<size_t>(tensor.shape.last());
  for (size_t row = 0; length > 0 && row * length < tensor.values.size(); ++row)
    body(std::span(tensor.values).subspan(row * length, length), row);
}

void softmax_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const bool log = static_cast<const SoftmaxParams*>(params)->log;
  for_each_row(inputs[0], [&](std::span<const double> x, size_t row) {
    const double largest = *std::max_element(x.begin(), x.end());
    double sum = 0;
    for (const double value : x) sum += std::exp(value - largest);
    double* y = outputs[0].values.data() + row * x.size();
    for (size_t i = 0; i < x.size(); ++i) y[i] = log ? x[i] - largest - std::log(sum) : std::exp(x[i] - largest) / sum;
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

void add_rms_norm_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  for (size_t i = 0; i < outputs[0].values.size(); ++i) outputs[0].values[i] = inputs[0].values[i] + inputs[1].values[i];
  const std::array<ReferenceTensor, 2> operands{outputs[0], inputs[2]};
  rms_norm_reference(params, operands, outputs.subspan(1));
}

void layer_norm_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const double epsilon = static_cast<const LayerNormParams*>(params)->epsilon;
  for_each_row(inputs[0], [&](std::span<const double> x, size_t row) {
    double sum = 0;
    for (const double value : x) sum += value;
    const double mean = sum / static_cast<double>(x.size());
    double squares = 0;
    for (const double value : x) squares += (value - mean) * (value - mean);
    const double scale = 1 / std::sqrt(squares / static_cast<double>(x.size()) + epsilon);
    double* y = outputs[0].values.data() + row * x.size();
    for (size_t i = 0; i < x.size(); ++i) y[i] = (x[i] - mean) * scale * inputs[1].values[i] + inputs[2].values[i];
  });
}

void softmax_gradient(GradientContext& context) {
  const Tensor& g = context.gradient();
  const Tensor y = context.output();
  if (context.parameters<SoftmaxParams>().log) {
    context.give(0, g - y.exp() * g.sum_keepdim(-1));
  } else {
    context.give(0, y * (g - (g * y).sum_keepdim(-1)));
  }
}

// A gradient of x's shape summed over all rows, in the weight's dtype.
Tensor over_rows(const Tensor& gradient, DType dtype) { return gradient.reshape({-1, gradient.shape().last()}).sum(0).to_dtype(dtype); }

// With n = (x - mean) · s and h = gradient · weight: dx = s · (h - mean(h) - n · mean(h · n)); without the means of h where x is not
// centred.
void give_normalized(GradientContext& context, const Tensor& normalized, const Tensor& scale, bool centred) {
  const Tensor& g = context.gradient();
  if (context.wants(0)) {
    const Tensor h = g * context.input(1).to_dtype(g.dtype());
    const Tensor around = centred ? h - h.mean_keepdim(-1) : h;
    context.give(0, scale * (around - normalized * (h * normalized).mean_keepdim(-1)));
  }
  if (context.wants(1)) context.give(1, over_rows(g * normalized, context.input_dtype(1)));
  if (context.inputs() > 2 && context.wants(2)) context.give(2, over_rows(g, context.input_dtype(2)));
}

void rms_norm_gradient(GradientContext& context) {
  const Tensor x = context.input(0);
  const Tensor scale = (x.sqr().mean_keepdim(-1) + double{context.parameters<RmsNormParams>().epsilon}).rsqrt();
  give_normalized(context, x * scale, scale, false);
}

void layer_norm_gradient(GradientContext& context) {
  const Tensor x = context.input(0);
  const Tensor centred = x - x.mean_keepdim(-1);
  const Tensor scale = (centred.sqr().mean_keepdim(-1) + double{context.parameters<LayerNormParams>().epsilon}).rsqrt();
  give_normalized(context, centred * scale, scale, true);
}

Tensor softmax_of(const Tensor& x, int dim, bool log) {
  const char* name = log ? "log_softmax" : "softmax";
  check_assigned(name, x);
  check_dtype(OpId::softmax, name, x);
  if (x.rank() == 0 && dim == -1) return softmax_of(x.reshape({1}), 0, log).reshape(Shape());
  const int axis = resolve_dim(name, dim, x.shape());
  if (axis != x.rank() - 1) return softmax_of(x.transpose(axis, -1), -1, log).transpose(axis, -1).contiguous();
  Tensor result = make_result(name, x.shape(), x.dtype(), x.device());
  apply(OpId::softmax, SoftmaxParams{log}, {&x}, {&result});
  return result;
}

// One row of weights, as implementations read it: f32, or f64 for f64.
Tensor row_of_weights(const char* op, const char* name, const Tensor& x, const Tensor& weight) {
  if (weight.rank() != 1 || x.rank() == 0 || weight.shape()[0] != x.shape().last()) {
    fail(ErrorCode::shape_mismatch, "{}: x {} and {} {}: the {} must be [{}]", op, x.describe(), name, weight.describe(), name,
         x.shape().last());
  }
  if (!is_float(weight.dtype())) fail(ErrorCode::dtype_mismatch, "{}: {} {} must be a float tensor", op, name, weight.describe());
  return weight.to_dtype(x.dtype() == DType::f64 ? DType::f64 : DType::f32).contiguous();
}

// The dtype in which norms are written, of which a copy makes the one that is wanted if it is another.
DType written_dtype(OpId op, const Tensor& x, std::optional<DType> wanted) {
  const bool directly = wanted && x.dtype() == DType::f32 && rounds_results(x.device(), op, x.dtype(), *wanted);
  return directly ? *wanted : x.dtype();
}

}  // namespace

const OpRule rules::softmax = {.defining_operand = 0,
                               .reference = softmax_reference,
                               .unsupported = refuse_all_but_floats,
                               .gradient_kind = GradientKind::function,
                               .gradient = softmax_gradient};
const OpRule rules::rms_norm = {.defining_operand = 0,
                                .reference = rms_norm_reference,
                                .unsupported = refuse_all_but_floats,
                                .gradient_kind = GradientKind::function,
                                .gradient = rms_norm_gradient};
// The tape sees its parts.
const OpRule rules::add_rms_norm = {.defining_operand = 0, .reference = add_rms_norm_reference, .unsupported = refuse_all_but_floats};
const OpRule rules::layer_norm = {.defining_operand = 0,
                                  .reference = layer_norm_reference,
                                  .unsupported = refuse_all_but_floats,
                                  .gradient_kind = GradientKind::function,
                                  .gradient = layer_norm_gradient};

Tensor softmax(const Tensor& x, int dim) { return softmax_of(x, dim, false); }

Tensor log_softmax(const Tensor& x, int dim) { return softmax_of(x, dim, true); }

Tensor Tensor::softmax(int dim) const { return wick::softmax(*this, dim); }

Tensor Tensor::log_softmax(int dim) const { return wick::log_softmax(*this, dim); }

Tensor rms_norm(const Tensor& x, const Tensor& weight, const RmsNormParams& params, std::optional<DType> dtype) {
  check_assigned("rms_norm", {{"x", x}, {"weight", weight}});
  check_dtype(OpId::rms_norm, "rms_norm", x);
  const Tensor scale = row_of_weights("rms_norm", "weight", x, weight);
  const bool tracked = x.is_tracked() || scale.is_tracked();  // a tape's operands are of one dtype
  Tensor result = make_result("rms_norm", x.shape(), tracked ? x.dtype() : written_dtype(OpId::rms_norm, x, dtype), x.device());
  apply(OpId::rms_norm, params, {&x, &scale}, {&result});
  return dtype ? result.to_dtype(*dtype) : result;
}

SumAndNorm add_rms_norm(const Tensor& x, const Tensor& y, const Tensor& weight, const RmsNormParams& params, std::optional<DType> dtype) {
  check_assigned("add_rms_norm", {{"x", x}, {"y", y}, {"weight", weight}});
  check_dtype(OpId::add_rms_norm, "add_rms_norm", x);
  if (x.shape() != y.shape()) {
    fail(ErrorCode::shape_mismatch, "add_rms_norm: x {} and y {} must agree in shape", x.describe(), y.describe());
  }
  if (x.dtype() != y.dtype()) {
    fail(ErrorCode::dtype_mismatch, "add_rms_norm: x {} and y {} must agree in dtype", x.describe(), y.describe());
  }
  const Tensor scale = row_of_weights("add_rms_norm", "weight", x, weight);
  if (x.is_tracked() || y.is_tracked() || scale.is_tracked()) {
    const Tensor sum = x + y;
    return {sum, rms_norm(sum, scale, params, dtype)};
  }
  const Tensor rows = x.contiguous(), others = y.contiguous();
  const auto new_result = [&](DType of) { return make_result("add_rms_norm", x.shape(), of, x.device()); };
  SumAndNorm result{new_result(x.dtype()), new_result(written_dtype(OpId::add_rms_norm, x, dtype))};
  dispatch(OpId::add_rms_norm, &params, {&rows, &others, &scale}, {&result.sum, &result.norm});
  if (dtype) result.norm = result.norm.to_dtype(*dtype);
  return result;
}

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon) {
  check_assigned("layer_norm", {{"x", x}, {"weight", weight}, {"bias", bias}});
  check_dtype(OpId::layer_norm, "layer_norm", x);
  const Tensor scale = row_of_weights("layer_norm", "weight", x, weight);
  const Tensor shift = row_of_weights("layer_norm", "bias", x, bias);
  Tensor result = make_result("layer_norm", x.shape(), x.dtype(), x.device());
  apply(OpId::layer_norm, LayerNormParams{epsilon}, {&x, &scale, &shift}, {&result});
  return result;
}

}  // namespace wick
