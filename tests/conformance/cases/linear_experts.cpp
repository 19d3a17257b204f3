// linear_experts and gated_linear_experts: few pairs of token and expert and many, a row of activations for each token and for each pair.
#include <fmt/format.h>

#include <array>

#include "conformance/case.h"
#include "conformance/cases/linear_bounds.h"
#include "wick/quant/block_format.h"
#include "wick/tensor/ops/linear.h"

namespace wick::conformance {
namespace {

struct ExpertCase {
  DType dtype;
  int64_t tokens, used, experts, n, k;
  bool row_a_pair, bias, precise;
  bool prepare = false;

  [[nodiscard]] LinearParams params(GateKind gate = GateKind::silu) const { return {.precise = precise, .gate = gate, .has_bias = bias}; }
  [[nodiscard]] std::string name() const {
    return fmt::format("{} of {} experts [{}, {}]/{} tokens{}{}{}{}", used, experts, n, k, tokens, row_a_pair ? "/a row a pair" : "",
                       bias ? "/bias" : "", precise ? "/precise" : "", prepare ? "/prepared" : "");
  }
  [[nodiscard]] Tensor x(Trial& trial) const {
    const Shape shape = row_a_pair ? Shape{tokens, used, k} : Shape{tokens, k};
    return trial.input(shape, DType::f32, View::contiguous, {-2, 2});
  }
  [[nodiscard]] Tensor weight(Trial& trial) const {
    const Tensor whole = trial.weight(experts * n, k, dtype).reshape({experts, n, k});
    return prepare ? trial.prepared(whole) : whole;
  }
  [[nodiscard]] Tensor ids(Trial& trial) const {
    std::vector<double> numbers(static_cast<size_t>(tokens * used));
    for (double& number : numbers) number = std::floor(trial.random().uniform(0, static_cast<double>(experts)));
    return trial.input_of(numbers, {tokens, used}, DType::i32);
  }
};

// The products of each pair as estimates, by the reference of linear on its rows alone.
std::vector<Estimate> estimates(const ExpertCase& c, const ReferenceTensor& x, const ReferenceTensor& weight, const ReferenceTensor& ids,
                                const ReferenceTensor* bias) {
  std::vector<Estimate> result;
  const auto n = static_cast<size_t>(c.n), k = static_cast<size_t>(c.k);
  const LinearParams plain;
  for (size_t pair = 0; pair < ids.values.size(); ++pair) {
    const auto expert = static_cast<size_t>(ids.values[pair]), row = c.row_a_pair ? pair : pair / static_cast<size_t>(c.used);
    const auto part = [](const ReferenceTensor& all, const Shape& shape, size_t first) {
      const auto begin = all.values.begin() + static_cast<ptrdiff_t>(first);
      return ReferenceTensor{shape, {begin, begin + static_cast<ptrdiff_t>(shape.elements())}, all.dtype};
    };
    const std::vector<ReferenceTensor> operands = {part(x, {1, c.k}, row * k), part(weight, {c.n, c.k}, expert * n * k)};
    std::vector<ReferenceTensor> sums = {{Shape{1, c.n}, std::vector<double>(n)}};
    rule(OpId::linear).reference(&plain, operands, sums);
    const std::vector<double> errors = linear_error(c.params(), c.dtype, operands[0], operands[1], sums[0].shape);
    for (size_t i = 0; i < n; ++i) {
      const double value = sums[0].values[i] + (bias == nullptr ? 0 : bias->values[expert * n + i]);
      result.push_back({value, errors[i] + 0x1p-23 * (std::fabs(value) + 8)});
    }
  }
  return result;
}

void add_plain(CaseList& list, const ExpertCase& c) {
  list.add(OpId::linear_experts, c.dtype, c.name(), [=](Trial& trial) {
    const Tensor x = c.x(trial), weight = c.weight(trial), ids = c.ids(trial), bias = trial.input({c.experts, c.n}, DType::f32);
    const LinearParams params = c.params();
    const Bound bound = [c](Inputs inputs, const ReferenceTensor& expected) {
      std::vector<double> bounds;
      for (const Estimate& e : estimates(c, inputs[0], inputs[1], inputs[2], c.bias ? &inputs[3] : nullptr)) bounds.push_back(e.error);
      bounds.resize(expected.values.size());
      return bounds;
    };
    std::vector<const Tensor*> inputs{&x, &weight, &ids};
    if (c.bias) inputs.push_back(&bias);
    trial.expect(OpId::linear_experts, &params, inputs, linear_experts(x, weight, ids, params, c.bias ? &bias : nullptr), bound);
  });
}

void add_gated(CaseList& list, const ExpertCase& c, GateKind gate) {
  list.add(OpId::gated_linear_experts, c.dtype, fmt::format("{}/{}", c.name(), to_string(gate)), [=](Trial& trial) {
    const Tensor x = c.x(trial), gates = c.weight(trial), up = c.weight(trial), ids = c.ids(trial);
    const Tensor gate_bias = trial.input({c.experts, c.n}, DType::f32), up_bias = trial.input({c.experts, c.n}, DType::f32);
    const LinearParams params = c.params(gate);
    const Bound bound = [c, gate](Inputs inputs, const ReferenceTensor& expected) {
      const std::vector<Estimate> g = estimates(c, inputs[0], inputs[1], inputs[3], c.bias ? &inputs[4] : nullptr),
                                  u = estimates(c, inputs[0], inputs[2], inputs[3], c.bias ? &inputs[5] : nullptr);
      std::vector<double> bounds(expected.values.size());
      for (size_t i = 0; i < bounds.size(); ++i) bounds[i] = gate_error(gate, g[i], u[i], expected.values[i]);
      return bounds;
    };
    std::vector<const Tensor*> inputs{&x, &gates, &up, &ids};
    if (c.bias) inputs.insert(inputs.end(), {&gate_bias, &up_bias});
    const Tensor result =
        c.bias ? gated_linear_experts(x, gates, up, ids, params, &gate_bias, &up_bias) : gated_linear_experts(x, gates, up, ids, params);
    trial.expect(OpId::gated_linear_experts, &params, inputs, result, bound);
  });
}

}  // namespace

void add_expert_cases(CaseList& list) {
  std::vector<DType> dtypes = {DType::f64, DType::f8e4m3};
  for (const BlockFormat& format : block_formats()) dtypes.push_back(format.dtype);
  for (const DType dtype : dtypes) {
    add_plain(list, {dtype, 1, 2, 4, 35, 256, false, false, false});
    add_plain(list, {dtype, 5, 2, 4, 19, 256, true, true, true});
    add_plain(list, {dtype, 33, 3, 5, 37, 256, false, true, false});
    add_gated(list, {dtype, 1, 2, 4, 35, 256, false, true, false}, GateKind::swiglu_oai);
    add_gated(list, {dtype, 40, 2, 5, 21, 256, true, false, false}, GateKind::silu);
    if (!is_quantized(dtype) && dtype != DType::f16 && dtype != DType::bf16) continue;
    for (const int64_t tokens : {1, 9, 40}) {
      add_plain(list, {dtype, tokens, 2, 5, 32, 512, false, true, false, true});
      add_gated(list, {dtype, tokens, 2, 5, 32, 512, false, false, false, true}, GateKind::gelu);
    }
  }
  for (const int64_t k : {1, 7, 33, 70}) {
    add_plain(list, {DType::f32, 3, 2, 3, 5, k, false, false, true});
    add_plain(list, {DType::f16, 30, 2, 3, 5, k, true, true, true});
  }
  add_plain(list, {DType::q4_k, 200, 4, 8, 130, 512, false, false, false});
}

}  // namespace wick::conformance
