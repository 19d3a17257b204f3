#include "wick/nn/recurrent.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"

namespace wick::nn {
namespace {

void check_weights(const char* layer, const RecurrentWeights& weights, int64_t gates) {
  const bool matrices = weights.input.rank() == 2 && weights.hidden.rank() == 2 && weights.input.shape()[0] == weights.hidden.shape()[0] &&
                        weights.hidden.shape()[0] == gates * weights.hidden.shape()[1];
  const auto fits = [&](const std::optional<Tensor>& bias) { return !bias || bias->shape() == Shape{weights.input.shape()[0]}; };
  if (matrices && fits(weights.input_bias) && fits(weights.hidden_bias)) return;
  fail(ErrorCode::shape_mismatch,
       "{}: input weight {}, hidden weight {}, biases {} and {}: want [{}·hidden, features], [{}·hidden, hidden]"
       " and [{}·hidden]",
       layer, weights.input.describe(), weights.hidden.describe(), weights.input_bias ? weights.input_bias->describe() : "none",
       weights.hidden_bias ? weights.hidden_bias->describe() : "none", gates, gates, gates);
}

Tensor product(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias) {
  const Tensor result = x.matmul(weight.t());
  return bias ? result + *bias : result;
}

// The input's share in the gates of one step or of all: x [..., features] -> [..., gates · hidden].
Tensor input_gates(const char* layer, const Tensor& x, int rank, const RecurrentWeights& weights) {
  const int64_t features = weights.input.shape()[1];
  if (x.rank() != rank || x.shape().last() != features) {
    fail(ErrorCode::shape_mismatch, "{}: x {} must be [batch, {}{}]", layer, x.describe(), rank == 3 ? "steps, " : "", features);
  }
  if (rank == 2) return product(x, weights.input, weights.input_bias);
  const Shape& shape = x.shape();
  const Tensor rows = x.reshape({shape[0] * shape[1], features});
  return product(rows, weights.input, weights.input_bias).reshape({shape[0], shape[1], weights.input.shape()[0]});
}

Tensor gate(const Tensor& gates, int64_t index, int64_t hidden) { return gates.narrow(-1, index * hidden, hidden); }

RecurrentWeights weights_of(int64_t gates, int64_t features, int64_t hidden, const RecurrentConfig& config, const VarBuilder& builder) {
  const double bound = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(hidden, 1)));
  const init::Uniform around_zero{-bound, bound};
  const std::string ending = fmt::format("_l{}{}", config.layer, config.reverse ? "_reverse" : "");
  RecurrentWeights weights{builder.get_with_hints({gates * hidden, features}, "weight_ih" + ending, around_zero),
                           builder.get_with_hints({gates * hidden, hidden}, "weight_hh" + ending, around_zero), std::nullopt, std::nullopt};
  if (config.bias) {
    weights.input_bias = builder.get_with_hints({gates * hidden}, "bias_ih" + ending, around_zero);
    weights.hidden_bias = builder.get_with_hints({gates * hidden}, "bias_hh" + ending, around_zero);
  }
  return weights;
}

template <class State, class Advance>
std::vector<State> run(const Tensor& gates, State state, const Advance& advance) {
  std::vector<State> states;
  states.reserve(static_cast<size_t>(gates.shape()[1]));
  for (int64_t step = 0; step < gates.shape()[1]; ++step) {
    state = advance(gates.get_on_dim(1, step), state);
    states.push_back(state);
  }
  return states;
}

template <class State>
Tensor stacked(const char* layer, std::span<const State> states) {
  if (states.empty()) fail(ErrorCode::invalid_argument, "{}: no states to make a tensor of", layer);
  std::vector<Tensor> shown;
  shown.reserve(states.size());
  for (const State& state : states) shown.push_back(state.h);
  return Tensor::stack(shown, 1);
}

}  // namespace

Lstm::Lstm(RecurrentWeights weights) : weights_(std::move(weights)) { check_weights("Lstm", weights_, 4); }

LstmState Lstm::zero_state(int64_t batch) const {
  const Tensor zeros = Tensor::zeros({batch, hidden_size()}, weights_.hidden.dtype(), weights_.hidden.device());
  return {zeros, zeros};
}

LstmState Lstm::advance(const Tensor& input, const LstmState& state) const {
  const Tensor gates = input + product(state.h, weights_.hidden, weights_.hidden_bias);
  const int64_t hidden = hidden_size();
  const Tensor kept = gate(gates, 1, hidden).sigmoid() * state.c;
  const Tensor c = kept + gate(gates, 0, hidden).sigmoid() * gate(gates, 2, hidden).tanh();
  return {gate(gates, 3, hidden).sigmoid() * c.tanh(), c};
}

LstmState Lstm::step(const Tensor& x, const LstmState& state) const {
  check_assigned("Lstm", {{"x", x}});
  return advance(input_gates("Lstm", x, 2, weights_), state);
}

std::vector<LstmState> Lstm::seq_init(const Tensor& x, const LstmState& state) const {
  check_assigned("Lstm", {{"x", x}});
  return run(input_gates("Lstm", x, 3, weights_), state, [this](const Tensor& input, const LstmState& s) { return advance(input, s); });
}

Tensor Lstm::states_to_tensor(std::span<const LstmState> states) const { return stacked("Lstm", states); }

Gru::Gru(RecurrentWeights weights) : weights_(std::move(weights)) { check_weights("Gru", weights_, 3); }

GruState Gru::zero_state(int64_t batch) const {
  return {Tensor::zeros({batch, hidden_size()}, weights_.hidden.dtype(), weights_.hidden.device())};
}

GruState Gru::advance(const Tensor& input, const GruState& state) const {
  const Tensor inner = product(state.h, weights_.hidden, weights_.hidden_bias);
  const int64_t hidden = hidden_size();
  const Tensor reset = (gate(input, 0, hidden) + gate(inner, 0, hidden)).sigmoid();
  const Tensor update = (gate(input, 1, hidden) + gate(inner, 1, hidden)).sigmoid();
  const Tensor fresh = (gate(input, 2, hidden) + reset * gate(inner, 2, hidden)).tanh();
  return {fresh + update * (state.h - fresh)};
}

GruState Gru::step(const Tensor& x, const GruState& state) const {
  check_assigned("Gru", {{"x", x}});
  return advance(input_gates("Gru", x, 2, weights_), state);
}

std::vector<GruState> Gru::seq_init(const Tensor& x, const GruState& state) const {
  check_assigned("Gru", {{"x", x}});
  return run(input_gates("Gru", x, 3, weights_), state, [this](const Tensor& input, const GruState& s) { return advance(input, s); });
}

Tensor Gru::states_to_tensor(std::span<const GruState> states) const { return stacked("Gru", states); }

Lstm lstm(int64_t features, int64_t hidden, const RecurrentConfig& config, const VarBuilder& builder) {
  return Lstm(weights_of(4, features, hidden, config, builder));
}

Gru gru(int64_t features, int64_t hidden, const RecurrentConfig& config, const VarBuilder& builder) {
  return Gru(weights_of(3, features, hidden, config, builder));
}

}  // namespace wick::nn
