#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "wick/base/fail.h"
#include "wick/op/index_range.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/fill.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/ops/linear_operands.h"
#include "wick/tensor/ops/op_rule.h"

namespace wick {
namespace {

// One weight of the reference, as the experts' matrices one below the other.
struct ExpertProducts {
  const ReferenceTensor& x;
  const ReferenceTensor& weight;
  const ReferenceTensor* bias;

  [[nodiscard]] double at(size_t row, size_t expert, size_t output) const {
    const size_t place = expert * static_cast<size_t>(weight.shape[1]) + output;
    return dot_row(x, row, weight, place) + (bias == nullptr ? 0 : bias->values[place]);
  }
};

void reference(const LinearParams& params, OpId op, std::span<const ReferenceTensor> inputs, ReferenceTensor& y) {
  const size_t weights = op == OpId::linear_experts ? 1 : 2;
  const ReferenceTensor& ids = inputs[1 + weights];
  const auto bias = [&](size_t weight) { return params.has_bias ? &inputs[2 + weights + weight] : nullptr; };
  const ExpertProducts first{inputs[0], inputs[1], bias(0)}, second{inputs[0], inputs[weights], bias(weights - 1)};
  const int64_t experts = inputs[1].shape[0];
  for (size_t pair = 0; pair < ids.values.size(); ++pair) {
    const auto id = static_cast<int64_t>(ids.values[pair]);
    if (id < 0 || id >= experts) fail_index(op, id, ids.shape, static_cast<int64_t>(pair), 0, experts);
  }
  const auto n = static_cast<size_t>(inputs[1].shape[1]), used = static_cast<size_t>(ids.shape[1]);
  const bool row_a_pair = inputs[0].values.size() == ids.values.size() * static_cast<size_t>(inputs[0].shape.last());
  for (size_t at = 0; at < y.values.size(); ++at) {
    const size_t pair = at / n, row = row_a_pair ? pair : pair / used, output = at % n;
    const auto expert = static_cast<size_t>(ids.values[pair]);
    const double product = first.at(row, expert, output);
    y.values[at] = weights == 1 ? product : gate_value(params.gate, product, second.at(row, expert, output));
  }
}

void experts_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  reference(*static_cast<const LinearParams*>(params), OpId::linear_experts, inputs, outputs[0]);
}
void gated_experts_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  reference(*static_cast<const LinearParams*>(params), OpId::gated_linear_experts, inputs, outputs[0]);
}

// The ids as implementations read them. Errors: dtype_mismatch, shape_mismatch.
Tensor checked_ids(const char* op, const Tensor& x, const Tensor& ids) {
  if (ids.dtype() != DType::i32 && ids.dtype() != DType::u32) {
    fail(ErrorCode::dtype_mismatch, "{}: ids {} must be i32 or u32", op, ids.describe());
  }
  const bool rows_of_tokens = ids.rank() == 2 && x.rank() == 2 && x.shape()[0] == ids.shape()[0];
  const bool rows_of_pairs = ids.rank() == 2 && x.rank() == 3 && x.shape()[0] == ids.shape()[0] && x.shape()[1] == ids.shape()[1];
  if (!rows_of_tokens && !rows_of_pairs) {
    fail(ErrorCode::shape_mismatch, "{}: x {} and ids {}: want [tokens, k] or [tokens, used, k], and [tokens, used]", op, x.describe(),
         ids.describe());
  }
  return ids.to_dtype(DType::i32).contiguous();
}

void check_bias(const char* op, const Tensor& bias, const Tensor& weight) {
  check_assigned(op, {{"bias", bias}});
  const Shape wanted{weight.shape()[0], weight.shape()[1]};
  if (bias.shape() != wanted) {
    fail(ErrorCode::shape_mismatch, "{}: the bias {} must be {} for weight {}", op, bias.describe(), wanted.to_string(), weight.describe());
  }
  if (bias.dtype() != DType::f32) fail(ErrorCode::dtype_mismatch, "{}: the bias {} must be f32", op, bias.describe());
}

// The same from ops that have gradients: each pair has a copy of its expert's matrix in f32.
Tensor experts_from_parts(const Tensor& x, const Tensor& weight, const Tensor& ids, const Tensor* bias) {
  const int64_t tokens = ids.shape()[0], used = ids.shape()[1], k = x.shape().last();
  const Tensor places = ids.reshape({tokens * used});
  const Tensor rows = x.rank() == 3 ? x : x.unsqueeze(1).broadcast_to({tokens, used, k});
  const Tensor matrices = weight.to_dtype(DType::f32).index_select(places, 0);
  const Tensor y = rows.reshape({tokens * used, 1, k}).matmul(matrices.t()).reshape({tokens, used, weight.shape()[1]});
  return bias == nullptr ? y : y + bias->index_select(places, 0).reshape(y.shape());
}

struct ExpertCall {
  const char* name;
  OpId op;
  std::vector<const Tensor*> weights, biases;  // one of each or two; null where there is no bias
};

Tensor multiply(const ExpertCall& call, const Tensor& x, const Tensor& ids, LinearParams params) {
  std::optional<Tensor> copy;
  const Tensor& activations = activations_of(call.name, x, copy);
  const Tensor numbers = checked_ids(call.name, x, ids);
  std::vector<const Tensor*> inputs{&activations};
  bool tracked = activations.is_tracked();
  for (const Tensor* weight : call.weights) {
    check_weight(call.name, x, *weight, 3);
    if (weight->shape() != call.weights[0]->shape() || weight->dtype() != call.weights[0]->dtype()) {
      fail(ErrorCode::shape_mismatch, "{}: gate {} and up {} must agree in shape and dtype", call.name, call.weights[0]->describe(),
           weight->describe());
    }
    inputs.push_back(weight);
    tracked = tracked || weight->is_tracked();
  }
  inputs.push_back(&numbers);
  params.has_norm = params.has_residual = false;
  params.has_bias = call.biases[0] != nullptr;
  std::array<std::optional<Tensor>, 2> copies;
  for (size_t i = 0; i < call.biases.size(); ++i) {
    if ((call.biases[i] != nullptr) != params.has_bias) fail(ErrorCode::invalid_argument, "{}: one bias of two; give both", call.name);
    if (!params.has_bias) continue;
    check_bias(call.name, *call.biases[i], *call.weights[i]);
    inputs.push_back(&at_start(*call.biases[i], copies[i]));
    tracked = tracked || inputs.back()->is_tracked();
  }
  const Tensor& weight = *call.weights[0];
  Tensor result = make_result(call.name, {ids.shape()[0], ids.shape()[1], weight.shape()[1]}, DType::f32, x.device());
  if (result.elements() == 0) return result;
  if (weight.shape()[0] == 0)
    fail(ErrorCode::shape_mismatch, "{}: weight {} has no experts for ids {}", call.name, weight.describe(), ids.describe());
  if (tracked || x.elements() == 0) {
    std::vector<Tensor> parts;
    for (size_t i = 0; i < call.weights.size(); ++i) {
      parts.push_back(experts_from_parts(activations, *call.weights[i], numbers, call.biases[i]));
    }
    return parts.size() == 1 ? parts[0] : apply_gate(params.gate, parts[0], parts[1]);
  }
  const std::array<const Tensor*, 1> outputs{&result};
  dispatch(call.op, &params, inputs, outputs);
  return result;
}

}  // namespace

// The tape sees their parts.
const OpRule rules::linear_experts = {.defining_operand = 1, .reference = experts_reference, .unsupported = linear_unsupported};
const OpRule rules::gated_linear_experts = {.defining_operand = 1, .reference = gated_experts_reference, .unsupported = linear_unsupported};

Tensor linear_experts(const Tensor& x, const Tensor& weight, const Tensor& ids, const LinearParams& params, const Tensor* bias) {
  check_assigned("linear_experts", {{"x", x}, {"weight", weight}, {"ids", ids}});
  return multiply({"linear_experts", OpId::linear_experts, {&weight}, {bias}}, x, ids, params);
}

Tensor gated_linear_experts(const Tensor& x, const Tensor& gate, const Tensor& up, const Tensor& ids, const LinearParams& params,
                            const Tensor* gate_bias, const Tensor* up_bias) {
  check_assigned("gated_linear_experts", {{"x", x}, {"gate", gate}, {"up", up}, {"ids", ids}});
  return multiply({"gated_linear_experts", OpId::gated_linear_experts, {&gate, &up}, {gate_bias, up_bias}}, x, ids, params);
}

}  // namespace wick
