#include "wick/tensor/ops/linear.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "wick/base/fail.h"
#include "wick/quant/interleave.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/fill.h"
#include "wick/tensor/ops/op_rule.h"

namespace wick {
namespace {

constexpr size_t kMaxWeights = 3;

double dot_row(const ReferenceTensor& x, size_t row, const ReferenceTensor& weight, size_t output) {
  const auto k = static_cast<size_t>(x.shape.last());
  double sum = 0;
  for (size_t i = 0; i < k; ++i) sum += x.values[row * k + i] * weight.values[output * k + i];
  return sum;
}

void linear_reference(const void* /*params*/, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  for (size_t index = 0; index < outputs.size(); ++index) {
    const auto n = static_cast<size_t>(inputs[index + 1].shape[0]);
    for (size_t at = 0; at < outputs[index].values.size(); ++at)
      outputs[index].values[at] = dot_row(inputs[0], at / n, inputs[index + 1], at % n);
  }
}

void gated_reference(const void* /*params*/, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const auto n = static_cast<size_t>(inputs[1].shape[0]);
  for (size_t at = 0; at < outputs[0].values.size(); ++at) {
    const double gate = dot_row(inputs[0], at / n, inputs[1], at % n);
    outputs[0].values[at] = gate / (1 + std::exp(-gate)) * dot_row(inputs[0], at / n, inputs[2], at % n);
  }
}

void check_operands(const Tensor& x, const Tensor& weight, const char* op) {
  if (x.dtype() != DType::f32) fail(ErrorCode::dtype_mismatch, "{}: x {} must be f32", op, x.describe());
  if (is_integer(weight.dtype()))
    fail(ErrorCode::dtype_mismatch, "{}: weight {} must be a float or quantized tensor", op, weight.describe());
  if (x.rank() < 1 || weight.rank() != 2 || weight.shape()[1] != x.shape().last()) {
    fail(ErrorCode::shape_mismatch, "{}: x {} and weight {}: the weight must be [n, {}]", op, x.describe(), weight.describe(),
         x.shape().last());
  }
  if (is_quantized(weight.dtype()) && (!weight.is_contiguous() || weight.layout().offset() != 0)) {
    fail(ErrorCode::shape_mismatch, "{}: the quantized weight {} must be a whole tensor, not a view", op, weight.describe());
  }
}

Tensor empty_result(const Tensor& x, int64_t outputs) {
  std::array<int64_t, kMaxRank> dims{};
  std::copy(x.shape().dims().begin(), x.shape().dims().end(), dims.begin());
  dims[static_cast<size_t>(x.rank() - 1)] = outputs;
  return Tensor::empty(Shape(std::span<const int64_t>(dims.data(), static_cast<size_t>(x.rank()))), DType::f32, x.device());
}

// [rows, last], also where one of them is 0.
Tensor rows_of(const Tensor& x) {
  int64_t rows = 1;
  for (int dim = 0; dim < x.rank() - 1; ++dim) rows *= x.shape()[dim];
  return x.reshape({rows, x.shape().last()});
}

void linear_gradient(GradientContext& context) {
  const Tensor rows = rows_of(context.gradient());
  if (context.wants(0)) {
    const Tensor weight = context.input(1).to_dtype(DType::f32);
    context.give(0, rows.matmul(weight).reshape(context.input_shape(0)));
  }
  if (context.wants(1)) {
    const Tensor product = rows.t().matmul(rows_of(context.input(0)));
    context.give(1, product.to_dtype(context.input_dtype(1)));
  }
}

bool share_call(const Tensor& a, const Tensor& b) {
  const auto by_kernel = [](const Tensor& weight) { return support(weight.device(), OpId::linear, weight.dtype()) == Support::kernel; };
  return a.dtype() == b.dtype() || (by_kernel(a) && by_kernel(b));
}

std::string_view linear_hole(DType dtype) { return is_integer(dtype) ? "weights are float or quantized" : ""; }

}  // namespace

const OpRule rules::linear = {.defining_operand = 1,
                              .reference = linear_reference,
                              .hole = linear_hole,
                              .gradient_kind = GradientKind::function,
                              .gradient = linear_gradient};
// The tape sees its parts: see gated_linear below.
const OpRule rules::gated_linear = {.defining_operand = 1, .reference = gated_reference, .hole = linear_hole};
const OpRule rules::repack = {.defining_operand = 0, .reference = nullptr};

std::vector<Tensor> linear(const Tensor& x, std::span<const Tensor* const> weights, const LinearParams& params) {
  check_assigned("linear", {{"x", x}});
  if (weights.empty() || weights.size() > kMaxWeights) {
    fail(ErrorCode::invalid_argument, "linear: {} weights for x {}; give 1 to {}", weights.size(), x.describe(), kMaxWeights);
  }
  const Tensor activations = x.contiguous();
  std::vector<Tensor> results;
  results.reserve(weights.size());
  for (const Tensor* weight : weights) {
    check_operands(x, *weight, "linear");
    results.push_back(empty_result(x, weight->shape()[0]));
  }
  if (x.elements() == 0) {
    for (size_t index = 0; index < weights.size(); ++index) {
      if (results[index].elements() > 0) fill(results[index], 0);  // a sum over no column
      record(to_string(OpId::linear), rules::linear.gradient, bytes_of(params), std::array{&activations, weights[index]}, results[index]);
    }
    return results;
  }
  if (x.is_tracked() || any_tracked(weights)) {
    for (size_t index = 0; index < weights.size(); ++index) apply(OpId::linear, params, {&activations, weights[index]}, {&results[index]});
    return results;
  }
  // Weights that one implementation multiplies share a call: those of one dtype, and where portable kernels do it all of them.
  std::array<bool, kMaxWeights> done{};
  for (size_t first = 0; first < weights.size(); ++first) {
    if (done[first]) continue;
    std::array<const Tensor*, kMaxWeights + 1> inputs{&activations};
    std::array<const Tensor*, kMaxWeights> outputs{};
    size_t count = 0;
    for (size_t index = first; index < weights.size(); ++index) {
      if (done[index] || !share_call(*weights[first], *weights[index])) continue;
      done[index] = true;
      inputs[count + 1] = weights[index];
      outputs[count++] = &results[index];
    }
    dispatch(OpId::linear, &params, std::span(inputs).first(count + 1), std::span(outputs).first(count));
  }
  return results;
}

Tensor linear(const Tensor& x, const Tensor& weight, const LinearParams& params) {
  check_assigned("linear", {{"x", x}, {"weight", weight}});
  const std::array<const Tensor*, 1> weights{&weight};
  return linear(x, weights, params).front();
}

Tensor gated_linear(const Tensor& x, const Tensor& gate, const Tensor& up, const LinearParams& params) {
  check_assigned("gated_linear", {{"x", x}, {"gate", gate}, {"up", up}});
  check_operands(x, gate, "gated_linear");
  check_operands(x, up, "gated_linear");
  if (gate.shape() != up.shape() || gate.dtype() != up.dtype()) {
    fail(ErrorCode::shape_mismatch, "gated_linear: gate {} and up {} must agree in shape and dtype", gate.describe(), up.describe());
  }
  if (x.is_tracked() || gate.is_tracked() || up.is_tracked()) return linear(x, gate, params).silu() * linear(x, up, params);
  const Tensor activations = x.contiguous();
  Tensor result = empty_result(x, gate.shape()[0]);
  if (x.elements() == 0 && result.elements() > 0) {
    fill(result, 0);  // silu(0) · 0
  } else if (result.elements() > 0) {
    dispatch(OpId::gated_linear, &params, {&activations, &gate, &up}, {&result});
  }
  return result;
}

Tensor repack_for_linear(const Tensor& weight) {
  const DType target = interleaved_dtype(weight.dtype());
  const bool repacks = support(weight.device(), OpId::repack, weight.dtype()) == Support::native;
  if (target == weight.dtype() || !repacks || weight.elements() == 0 || weight.rank() != 2 || !weight.is_contiguous()) return weight;
  if (weight.shape()[1] % info(target).block_elements != 0) return weight;  // of f16 and bf16, whose plain rows have any length
  const Tensor result = Tensor::empty(weight.shape(), target, weight.device(), Lifetime::persistent);
  dispatch(OpId::repack, nullptr, {&weight}, {&result});
  return result;
}

}  // namespace wick
