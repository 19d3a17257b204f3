// RecurrentGemma's recurrent block: a convolution and a real-gated linear recurrent unit (De et al. 2024, section 2.4).
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wick/model/mixers/mixer.h"
#include "wick/model/mixers/recurrent.h"
#include "wick/nn/activation.h"
#include "wick/tensor/ops/linear.h"

namespace wick {
namespace {

// The logarithm of a position's decay is this times the gate of decays times softplus(ssm_a).
constexpr double kGateScale = -8;

class LinearRecurrentMixer final : public Mixer {
 public:
  LinearRecurrentMixer(const LinearRecurrentUnitSpec& spec, WeightReader& weights, const MixerPlace& place, const std::string& prefix);

  [[nodiscard]] Tensor forward(const Tensor& normed, const MixerContext& context) const override;
  [[nodiscard]] std::vector<const ScaledMatrix*> matrices() const override { return {&in_, &gate_, &out_, &decay_gate_, &input_gate_}; }
  [[nodiscard]] std::vector<ScaledMatrix*> adaptable() override { return {&in_, &gate_, &out_}; }

 private:
  // Rows of some sequences, which have equally many, [sequences, positions, inner]: h becomes decay · h + added.
  struct Rows {
    Tensor decays, added;
  };
  [[nodiscard]] Tensor product(const ScaledMatrix& matrix, const std::optional<Tensor>& bias, const Tensor& x,
                               const MixerContext& context) const;
  // σ of each head's matrix times its part of x [rows, inner].
  [[nodiscard]] Tensor head_gate(const ScaledMatrix& matrix, const Tensor& bias, const Tensor& x, const MixerContext& context) const;
  // The states after `count` positions from `first` on; `state` [sequences, inner] is then the last of them.
  [[nodiscard]] static Tensor scan(const Rows& rows, int64_t first, int64_t count, Tensor& state);
  // [rows, inner] of all sequences, from tensors of that shape.
  [[nodiscard]] Tensor states_of(const Rows& all, const MixerContext& context) const;

  LinearRecurrentUnitSpec spec_;
  bool deterministic_;
  ScaledMatrix in_, gate_, out_;
  std::optional<Tensor> in_bias_, gate_bias_, out_bias_;
  ShortConvolution convolution_;
  ScaledMatrix decay_gate_, input_gate_;
  Tensor decay_gate_bias_, input_gate_bias_;
  StateRange state_;
  Tensor decay_;     // [inner]: the logarithms of decays where their gates are 1
  Tensor head_ids_;  // i32 [1, heads]
};

LinearRecurrentMixer::LinearRecurrentMixer(const LinearRecurrentUnitSpec& spec, WeightReader& weights, const MixerPlace& place,
                                           const std::string& prefix)
    : spec_(spec),
      deterministic_(weights.deterministic()),
      in_(weights.matrix(prefix + "ssm_in", spec.inner, place.hidden_size)),
      gate_(weights.matrix(prefix + "ssm_gate", spec.inner, place.hidden_size)),
      out_(weights.matrix(prefix + "ssm_out", place.hidden_size, spec.inner)),
      in_bias_(weights.find_vector(prefix + "ssm_in.bias", spec.inner)),
      gate_bias_(weights.find_vector(prefix + "ssm_gate.bias", spec.inner)),
      out_bias_(weights.find_vector(prefix + "ssm_out.bias", place.hidden_size)),
      convolution_(weights, prefix + "ssm_conv1d", place.recurrent, spec.inner, spec.kernel),
      decay_gate_(weights.experts(prefix + "ssm_gate_a", spec.heads, spec.inner / spec.heads, spec.inner / spec.heads)),
      input_gate_(weights.experts(prefix + "ssm_gate_x", spec.heads, spec.inner / spec.heads, spec.inner / spec.heads)),
      decay_gate_bias_(weights.vectors(prefix + "ssm_gate_a.bias", spec.heads, spec.inner / spec.heads)),
      input_gate_bias_(weights.vectors(prefix + "ssm_gate_x.bias", spec.heads, spec.inner / spec.heads)),
      state_(place.recurrent, (spec.kernel - 1) * spec.inner, spec.inner),
      decay_(nn::softplus(weights.vector(prefix + "ssm_a", spec.inner)) * kGateScale) {
  std::vector<int32_t> ids(static_cast<size_t>(spec.heads));
  std::iota(ids.begin(), ids.end(), 0);
  head_ids_ = Tensor::from_vector(ids, {1, spec.heads}, weights.device());
}

Tensor LinearRecurrentMixer::product(const ScaledMatrix& matrix, const std::optional<Tensor>& bias, const Tensor& x,
                                     const MixerContext& context) const {
  context.show_input({matrix.name}, x);
  return biased(context.product(matrix, x), bias);
}

Tensor LinearRecurrentMixer::head_gate(const ScaledMatrix& matrix, const Tensor& bias, const Tensor& x, const MixerContext& context) const {
  const int64_t rows = x.dim(0);
  const Tensor parts = x.reshape({rows, spec_.heads, spec_.inner / spec_.heads});
  const Tensor ids = head_ids_.broadcast_to({rows, spec_.heads}).contiguous();
  context.show_input({matrix.name}, parts, spec_.heads, ids);
  return (matrix.scaled(linear_experts(parts, matrix.weight, ids, context.linear)) + bias).sigmoid().reshape({rows, spec_.inner});
}

// A composition of two neighbouring positions is h → a₂ · a₁ · h + (a₂ · b₁ + b₂): of twice as many positions in each round.
Tensor LinearRecurrentMixer::scan(const Rows& rows, int64_t first, int64_t count, Tensor& state) {
  Tensor decays = rows.decays.narrow(1, first, count), added = rows.added.narrow(1, first, count);
  for (int64_t distance = 1; distance < count; distance *= 2) {
    const auto head = [&](const Tensor& all) { return all.narrow(1, 0, distance); };
    const auto earlier = [&](const Tensor& all) { return all.narrow(1, 0, count - distance); };
    const Tensor own = decays.narrow(1, distance, count - distance);
    added = Tensor::cat({head(added), added.narrow(1, distance, count - distance) + own * earlier(added)}, 1);
    decays = Tensor::cat({head(decays), own * earlier(decays)}, 1);
  }
  const Tensor states = added + decays * state.unsqueeze(1);
  state = states.narrow(1, count - 1, 1).reshape(state.shape());
  return states;
}

Tensor LinearRecurrentMixer::states_of(const Rows& all, const MixerContext& context) const {
  const StateInputs& step = context.places.step.states.value();
  const Tensor before = state_.read(context.pool, step);
  std::vector<Tensor> parts;
  for (const SequenceRun& run : runs_of(step, deterministic_)) {
    const Rows rows{.decays = run.rows_of(all.decays, 0, {spec_.inner}), .added = run.rows_of(all.added, 0, {spec_.inner})};
    Tensor state = before.narrow(0, run.first, run.sequences);
    // Whatever else comes in, and in how many parts: position by position.
    const int64_t chunk = deterministic_ ? 1 : run.positions;
    const Tensor states = in_chunks(run.positions, chunk, [&](int64_t first, int64_t count) { return scan(rows, first, count, state); });
    state_.write(context.pool, step, run.first, state);
    parts.push_back(states.reshape({run.sequences * run.positions, spec_.inner}));
  }
  return joined(parts, 0);
}

Tensor LinearRecurrentMixer::forward(const Tensor& normed, const MixerContext& context) const {
  const StepInputs& step = context.places.step;
  const Tensor gate = nn::Activation(spec_.activation).forward(product(gate_, gate_bias_, normed, context));
  const Tensor x = convolution_.forward(product(in_, in_bias_, normed, context), context.pool, step.states.value());
  const Tensor logarithms = head_gate(decay_gate_, decay_gate_bias_, x, context) * decay_;
  // A sequence's first position is taken in as it is: there is no state that would grow.
  const Tensor is_first = step.positions.eq(0.0).to_dtype(DType::f32).reshape({x.dim(0), 1});
  const Tensor shares = (logarithms * 2.0).expm1().neg().sqrt().maximum(is_first);
  const Tensor added = x * head_gate(input_gate_, input_gate_bias_, x, context) * shares;
  return product(out_, out_bias_, states_of({.decays = logarithms.exp(), .added = added}, context) * gate, context);
}

}  // namespace

std::unique_ptr<Mixer> build_linear_recurrent_unit(const LinearRecurrentUnitSpec& spec, WeightReader& weights, const MixerPlace& place) {
  return std::make_unique<LinearRecurrentMixer>(spec, weights, place, fmt::format("blk.{}.", place.layer));
}

}  // namespace wick
