// linear and gated_linear with a norm, biases and a residual in one call.
#include <fmt/format.h>

#include <array>

#include "conformance/case.h"
#include "conformance/cases/linear_bounds.h"
#include "wick/tensor/ops/linear.h"

namespace wick::conformance {
namespace {

struct FusedCase {
  DType dtype;
  int64_t tokens, k;
  bool norm, bias, residual, precise, prepare;

  [[nodiscard]] LinearParams params() const {
    return {.precise = precise, .has_norm = norm, .has_bias = bias, .has_residual = residual, .epsilon = 1e-3F};
  }
  [[nodiscard]] std::string name() const {
    return fmt::format("[{}, {}]/fused{}{}{}{}{}", tokens, k, norm ? "/norm" : "", bias ? "/bias" : "", residual ? "/residual" : "",
                       precise ? "/precise" : "", prepare ? "/prepared" : "");
  }
};

ReferenceTensor normalized(const LinearParams& params, Inputs inputs, size_t weights) {
  ReferenceTensor x = inputs[0];
  if (!params.has_norm) return x;
  const RmsNormParams norm{params.epsilon};
  const std::array<ReferenceTensor, 2> operands{inputs[0], inputs[1 + weights]};
  rule(OpId::rms_norm).reference(&norm, operands, std::span(&x, 1));
  return x;
}

// What the product of normalized activations may err by; the norm's own error, √k times that of the sum of squares at most; and one
// rounding of each addition.
std::vector<double> product_error(const LinearParams& params, DType dtype, const ReferenceTensor& x, const ReferenceTensor& weight,
                                  const Shape& shape) {
  std::vector<double> bounds = linear_error(params, dtype, x, weight, shape);
  if (!params.has_norm) return bounds;
  const LinearParams plain;
  const std::vector<ReferenceTensor> operands = {x, weight};
  const std::vector<double> norm = product_bound(OpId::linear, &plain, 0x1p-24, x.shape.last(), operands, shape);
  for (size_t i = 0; i < bounds.size(); ++i) bounds[i] += 2 * norm[i];
  return bounds;
}

Bound fused_bound(const FusedCase& fused) {
  return [fused](Inputs inputs, const ReferenceTensor& expected) {
    const LinearParams params = fused.params();
    std::vector<double> bounds = product_error(params, fused.dtype, normalized(params, inputs, 1), inputs[1], expected.shape);
    for (size_t i = 0; i < bounds.size(); ++i) bounds[i] += 0x1p-23 * (std::fabs(expected.values[i]) + 8);
    return bounds;
  };
}

void add_fused(CaseList& list, const FusedCase& fused) {
  list.add(OpId::linear, fused.dtype, fused.name(), [=](Trial& trial) {
    const int64_t n = 35;
    const LinearParams params = fused.params();
    const Tensor x = trial.input({fused.tokens, fused.k}, DType::f32, View::contiguous, {-2, 2});
    Tensor weight = trial.weight(n, fused.k, fused.dtype);
    if (fused.prepare) weight = trial.prepared(weight);
    const Tensor norm = trial.input({fused.k}, DType::f32, View::contiguous, {-1, 1}), bias = trial.input({n}, DType::f32),
                 residual = trial.input({fused.tokens, n}, DType::f32);
    LinearFusion fusion{.epsilon = params.epsilon};
    std::vector<const Tensor*> inputs{&x, &weight};
    if (fused.norm) inputs.push_back(fusion.norm = &norm);
    if (fused.bias) inputs.push_back(fusion.biases[0] = &bias);
    if (fused.residual) inputs.push_back(fusion.residual = &residual);
    trial.expect(OpId::linear, &params, inputs, linear(x, weight, {.precise = fused.precise}, fusion), fused_bound(fused));
  });
}

// Three weights with their biases behind one norm.
void add_fused_weights(CaseList& list, const FusedCase& fused) {
  list.add(OpId::linear, fused.dtype, fused.name() + "/3 weights", [=](Trial& trial) {
    const LinearParams params = fused.params();
    const Tensor x = trial.input({fused.tokens, fused.k}, DType::f32, View::contiguous, {-2, 2});
    const Tensor norm = trial.input({fused.k}, DType::f32, View::contiguous, {-1, 1});
    LinearFusion fusion{.epsilon = params.epsilon};
    fusion.norm = &norm;
    std::vector<Tensor> weights, biases;
    for (const int64_t n : {33, 16, 5}) {
      weights.push_back(trial.weight(n, fused.k, fused.dtype));
      biases.push_back(trial.input({n}, DType::f32));
    }
    std::array<const Tensor*, 3> pointers{};
    for (size_t i = 0; i < 3; ++i) {
      pointers[i] = &weights[i];
      fusion.biases[i] = &biases[i];
    }
    const std::vector<Tensor> results = linear(x, pointers, {.precise = fused.precise}, fusion);
    for (size_t i = 0; i < 3; ++i) {
      trial.expect(OpId::linear, &params, {&x, &weights[i], &norm, &biases[i]}, results[i], fused_bound(fused));
    }
  });
}

Bound fused_gate_bound(const FusedCase& fused, GateKind gate) {
  return [fused, gate](Inputs inputs, const ReferenceTensor& expected) {
    const LinearParams params = fused.params(), plain;
    const ReferenceTensor x = normalized(params, inputs, 2);
    std::array<std::vector<double>, 2> values, errors;
    const auto n = static_cast<size_t>(inputs[1].shape[0]);
    for (size_t which = 0; which < 2; ++which) {
      const std::vector<ReferenceTensor> operands = {x, inputs[1 + which]};
      std::vector<ReferenceTensor> sums = {expected};
      rule(OpId::linear).reference(&plain, operands, sums);
      values[which] = sums[0].values;
      errors[which] = product_error(params, fused.dtype, x, inputs[1 + which], expected.shape);
      for (size_t i = 0; fused.bias && i < values[which].size(); ++i)
        values[which][i] += inputs[3 + (fused.norm ? 1 : 0) + which].values[i % n];
      for (size_t i = 0; i < errors[which].size(); ++i) errors[which][i] += 0x1p-23 * (std::fabs(values[which][i]) + 8);
    }
    std::vector<double> bounds(expected.values.size());
    for (size_t i = 0; i < bounds.size(); ++i) {
      bounds[i] = gate_error(gate, {values[0][i], errors[0][i]}, {values[1][i], errors[1][i]}, expected.values[i]);
    }
    return bounds;
  };
}

void add_fused_gate(CaseList& list, const FusedCase& fused, GateKind gate) {
  list.add(OpId::gated_linear, fused.dtype, fmt::format("{}/{}", fused.name(), to_string(gate)), [=](Trial& trial) {
    const int64_t n = 35;
    LinearParams params = fused.params();
    params.gate = gate;
    const Tensor x = trial.input({fused.tokens, fused.k}, DType::f32, View::contiguous, {-2, 2});
    std::vector<Tensor> weights, biases;
    for (int i = 0; i < 2; ++i) {
      const Tensor weight = trial.weight(n, fused.k, fused.dtype);
      weights.push_back(fused.prepare ? trial.prepared(weight) : weight);
      biases.push_back(trial.input({n}, DType::f32));
    }
    const Tensor norm = trial.input({fused.k}, DType::f32, View::contiguous, {-1, 1});
    LinearFusion fusion{.epsilon = params.epsilon};
    std::vector<const Tensor*> inputs{&x, &weights[0], &weights[1]};
    if (fused.norm) inputs.push_back(fusion.norm = &norm);
    for (size_t i = 0; fused.bias && i < 2; ++i) inputs.push_back(fusion.biases[i] = &biases[i]);
    const Tensor result = gated_linear(x, weights[0], weights[1], {.precise = fused.precise, .gate = gate}, fusion);
    trial.expect(OpId::gated_linear, &params, inputs, result, fused_gate_bound(fused, gate));
  });
}

}  // namespace

void add_fused_linear_cases(CaseList& list) {
  for (const DType dtype : {DType::f32, DType::f16, DType::q8_0, DType::q4_k, DType::iq4_xs}) {
    for (const int64_t tokens : {1, 2, 7, 20}) {
      for (int which = 1; which < 8; ++which) {
        const bool norm = (which & 1) != 0, bias = (which & 2) != 0, residual = (which & 4) != 0;
        add_fused(list, {dtype, tokens, 512, norm, bias, residual, which % 3 == 0, false});
        if (which == 7) add_fused(list, {dtype, tokens, 512, norm, bias, residual, false, true});
      }
      add_fused_weights(list, {dtype, tokens, 512, true, true, false, false, false});
      add_fused_gate(list, {dtype, tokens, 512, true, true, false, false, false}, GateKind::silu);
      add_fused_gate(list, {dtype, tokens, 512, true, false, false, false, true}, GateKind::gelu);
      add_fused_gate(list, {dtype, tokens, 512, false, true, false, true, false}, GateKind::swiglu_oai);
    }
  }
  add_fused(list, {DType::f32, 3, 33, true, true, true, true, false});
}

}  // namespace wick::conformance
