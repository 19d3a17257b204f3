// Recurrent layers: LSTM (Hochreiter & Schmidhuber 1997) and GRU (Cho et al. 2014), with weights as PyTorch lays them out.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "wick/nn/var_builder.h"
#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {
namespace nn {

// A layer with a state, which each step of a sequence moves on. Sequences are [batch, steps, features].
template <class State>
class Recurrent {
 public:
  virtual ~Recurrent() = default;

  [[nodiscard]] virtual State zero_state(int64_t batch) const = 0;
  // One step: x [batch, features].
  [[nodiscard]] virtual State step(const Tensor& x, const State& state) const = 0;
  // The states after each step, from a state of zeros, or from that one.
  [[nodiscard]] std::vector<State> seq(const Tensor& x) const { return seq_init(x, zero_state(x.dim(0))); }
  [[nodiscard]] virtual std::vector<State> seq_init(const Tensor& x, const State& state) const = 0;
  // The states' outputs, [batch, steps, hidden]. Errors: invalid_argument for no states.
  [[nodiscard]] virtual Tensor states_to_tensor(std::span<const State> states) const = 0;

 protected:
  Recurrent() = default;
  Recurrent(const Recurrent&) = default;
  Recurrent(Recurrent&&) = default;
  Recurrent& operator=(const Recurrent&) = default;
  Recurrent& operator=(Recurrent&&) = default;
};

// The parameters of a layer with that many gates, one block of rows a gate.
struct RecurrentWeights {
  Tensor input;   // [gates · hidden, features]
  Tensor hidden;  // [gates · hidden, hidden]
  std::optional<Tensor> input_bias;
  std::optional<Tensor> hidden_bias;
};

struct LstmState {
  Tensor h;  // [batch, hidden]
  Tensor c;
};

// Gates in the order input, forget, cell, output: i, f, o = sigmoid(…), g = tanh(…); c' = f · c + i · g; h' = o · tanh(c').
class Lstm final : public Recurrent<LstmState> {
 public:
  // Errors: shape_mismatch.
  explicit Lstm(RecurrentWeights weights);

  [[nodiscard]] LstmState zero_state(int64_t batch) const override;
  [[nodiscard]] LstmState step(const Tensor& x, const LstmState& state) const override;
  [[nodiscard]] std::vector<LstmState> seq_init(const Tensor& x, const LstmState& state) const override;
  [[nodiscard]] Tensor states_to_tensor(std::span<const LstmState> states) const override;
  [[nodiscard]] int64_t hidden_size() const { return weights_.hidden.shape()[1]; }

 private:
  [[nodiscard]] LstmState advance(const Tensor& input_gates, const LstmState& state) const;

  RecurrentWeights weights_;
};

struct GruState {
  Tensor h;
};

// Gates in the order reset, update, new: r, z = sigmoid(…); n = tanh(Wx + b + r · (Uh + b')); h' = (1 - z) · n + z · h.
class Gru final : public Recurrent<GruState> {
 public:
  // Errors: shape_mismatch.
  explicit Gru(RecurrentWeights weights);

  [[nodiscard]] GruState zero_state(int64_t batch) const override;
  [[nodiscard]] GruState step(const Tensor& x, const GruState& state) const override;
  [[nodiscard]] std::vector<GruState> seq_init(const Tensor& x, const GruState& state) const override;
  [[nodiscard]] Tensor states_to_tensor(std::span<const GruState> states) const override;
  [[nodiscard]] int64_t hidden_size() const { return weights_.hidden.shape()[1]; }

 private:
  [[nodiscard]] GruState advance(const Tensor& input_gates, const GruState& state) const;

  RecurrentWeights weights_;
};

struct RecurrentConfig {
  bool bias = true;
  int64_t layer = 0;
  bool reverse = false;  // the weights of the backward direction; the layer itself goes through what it is given in order
};

// PyTorch's names: "weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", with "_reverse" behind those of the backward direction.
// New ones are uniform in ±1/√hidden.
[[nodiscard]] Lstm lstm(int64_t features, int64_t hidden, const RecurrentConfig& config, const VarBuilder& builder);
[[nodiscard]] Gru gru(int64_t features, int64_t hidden, const RecurrentConfig& config, const VarBuilder& builder);

}  // namespace nn
}  // namespace wick
