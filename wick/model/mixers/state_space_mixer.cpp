// Mamba 2: states that decay, computed for some positions at once by products of matrices (Dao & Gu 2024, section 6).
#include <fmt/format.h>

#include <utility>

#include "wick/model/mixers/mixer.h"
#include "wick/model/mixers/recurrent.h"
#include "wick/nn/activation.h"
#include "wick/tensor/ops/normalize.h"

namespace wick {
namespace {

// Positions at once: scores of each with each are made.
constexpr int64_t kChunk = 64;

class StateSpaceMixer final : public Mixer {
 public:
  StateSpaceMixer(const StateSpaceSpec& spec, WeightReader& weights, const MixerPlace& place, const std::string& prefix);

  [[nodiscard]] Tensor forward(const Tensor& normed, const MixerContext& context) const override;
  [[nodiscard]] std::vector<const ScaledMatrix*> matrices() const override { return {&in_, &out_}; }
  [[nodiscard]] std::vector<ScaledMatrix*> adaptable() override { return {&in_, &out_}; }

 private:
  // Rows of some sequences, which have equally many: [sequences, positions, …].
  struct Rows {
    Tensor x;               // [.., heads, head_dim]
    Tensor columns, reads;  // [.., groups, state_size]: what goes into states, and what is read of them
    Tensor steps;           // [.., heads]
  };
  // What positions from `first` on, at most kChunk, give: [sequences, positions, heads, head_dim]. `state` [sequences, heads, state_size,
  // head_dim] is then the one after them.
  [[nodiscard]] Tensor scan(const Rows& rows, int64_t first, int64_t count, Tensor& state) const;
  // What all positions give, one by one: [sequences, positions, heads, head_dim].
  [[nodiscard]] Tensor changed(const Rows& rows, const SequenceRun& run, const MixerContext& context) const;
  // Those of each group for its heads: [sequences, heads, positions, state_size].
  [[nodiscard]] Tensor of_heads(const Tensor& groups) const;
  // [rows, inner], of all sequences.
  [[nodiscard]] Tensor states_of(const Tensor& mixed, const Tensor& steps, const MixerContext& context) const;
  [[nodiscard]] Tensor gated(const Tensor& y, const Tensor& gate) const;

  StateSpaceSpec spec_;
  bool deterministic_;
  ScaledMatrix in_, out_;
  ShortConvolution convolution_;
  StateRange state_;
  Tensor decay_, skip_, step_bias_;
  std::optional<Tensor> norm_;
  Tensor unit_;
};

StateSpaceMixer::StateSpaceMixer(const StateSpaceSpec& spec, WeightReader& weights, const MixerPlace& place, const std::string& prefix)
    : spec_(spec),
      deterministic_(weights.deterministic()),
      in_(weights.matrix(prefix + "ssm_in", spec.inner() + spec.width() + spec.heads, place.hidden_size)),
      out_(weights.matrix(prefix + "ssm_out", place.hidden_size, spec.inner())),
      convolution_(weights, prefix + "ssm_conv1d", place.recurrent, spec.width(), spec.kernel),
      state_(place.recurrent, (spec.kernel - 1) * spec.width(), spec.inner() * spec.state_size),
      decay_(weights.vectors(prefix + "ssm_a", spec.heads, 1).reshape({spec.heads})),
      skip_(weights.vectors(prefix + "ssm_d", spec.heads, 1)),
      step_bias_(weights.vector(prefix + "ssm_dt.bias", spec.heads)) {
  const int64_t part = spec.inner() / spec.norm_groups;
  if (weights.has(prefix + "ssm_norm.weight")) norm_ = weights.vectors(prefix + "ssm_norm.weight", spec.norm_groups, part);
  if (norm_ && spec.norm_groups == 1) norm_ = norm_->reshape({part});
  unit_ = Tensor::ones({part}, DType::f32, weights.device());
}

Tensor StateSpaceMixer::of_heads(const Tensor& groups) const {
  const int64_t sequences = groups.dim(0), positions = groups.dim(1);
  const Shape shape{sequences, spec_.groups, spec_.heads / spec_.groups, positions, spec_.state_size};
  return groups.transpose(1, 2).unsqueeze(2).broadcast_to(shape).reshape({sequences, spec_.heads, positions, spec_.state_size});
}

Tensor StateSpaceMixer::changed(const Rows& rows, const SequenceRun& run, const MixerContext& context) const {
  const RecurrentRows changes{
      .query = rows.reads, .key = rows.columns, .value = rows.x, .decay = (rows.steps * decay_).exp().unsqueeze(-1), .rate = rows.steps};
  return state_.change(context.pool, context.places.step.states.value(), run, changes, {});
}

Tensor StateSpaceMixer::scan(const Rows& rows, int64_t first, int64_t count, Tensor& state) const {
  const int64_t heads = spec_.heads;
  const auto part = [&](const Tensor& whole) { return whole.narrow(1, first, count); };
  // Heads before positions.
  const Tensor steps = part(rows.steps).transpose(1, 2);  // [sequences, heads, positions]
  const Tensor sums = (steps * decay_.reshape({heads, 1})).contiguous().cumsum(-1);
  const Tensor x = part(rows.x).transpose(1, 2) * steps.unsqueeze(-1);  // [sequences, heads, positions, head_dim]
  const Tensor columns = of_heads(part(rows.columns)), reads = of_heads(part(rows.reads));
  Tensor y = reads.matmul(state) * sums.exp().unsqueeze(-1);
  // Of the later position by the earlier one: what is left of it.
  const Tensor left = (sums.unsqueeze(-1) - sums.unsqueeze(-2)).minimum(0.0).exp().tril();
  y = y + (reads.matmul(columns.transpose(-1, -2)) * left).matmul(x);
  const Tensor last = sums.narrow(-1, count - 1, 1);
  const Tensor kept = x * (last - sums).exp().unsqueeze(-1);
  state = state * last.exp().unsqueeze(-1) + columns.transpose(-1, -2).matmul(kept);
  return y.transpose(1, 2);
}

Tensor StateSpaceMixer::states_of(const Tensor& mixed, const Tensor& steps, const MixerContext& context) const {
  const StateInputs& step = context.places.step.states.value();
  const int64_t inner = spec_.inner(), width = spec_.groups * spec_.state_size;
  std::vector<Tensor> parts;
  for (const SequenceRun& run : runs_of(step)) {
    const Rows rows{.x = run.rows_of(mixed, 0, {spec_.heads, spec_.head_dim}),
                    .columns = run.rows_of(mixed, inner, {spec_.groups, spec_.state_size}),
                    .reads = run.rows_of(mixed, inner + width, {spec_.groups, spec_.state_size}),
                    .steps = run.rows_of(steps, 0, {spec_.heads})};
    Tensor y;
    if (by_position(run, deterministic_, mixed.device())) {
      y = changed(rows, run, context);
    } else {
      Tensor state = state_.read(context.pool, step, run.first, run.sequences);
      state = state.reshape({run.sequences, spec_.heads, spec_.state_size, spec_.head_dim});
      y = in_chunks(run.positions, kChunk, [&](int64_t first, int64_t count) { return scan(rows, first, count, state); });
      state_.write(context.pool, step, run.first, state.reshape({run.sequences, inner * spec_.state_size}));
    }
    y = y + rows.x * skip_;
    parts.push_back(y.reshape({run.sequences * run.positions, inner}));
  }
  return joined(parts, 0);
}

Tensor StateSpaceMixer::gated(const Tensor& y, const Tensor& gate) const {
  Tensor x = y * gate.silu();
  if (!norm_) return x;
  const RmsNormParams params{spec_.norm_epsilon, deterministic_};
  if (spec_.norm_groups == 1) return rms_norm(x, *norm_, params);
  const Tensor parts = x.reshape({x.dim(0), spec_.norm_groups, spec_.inner() / spec_.norm_groups});
  return (rms_norm(parts, unit_, params) * *norm_).reshape(x.shape());
}

Tensor StateSpaceMixer::forward(const Tensor& normed, const MixerContext& context) const {
  context.show_input({in_.name}, normed);
  const Tensor all = context.product(in_, normed);
  const int64_t inner = spec_.inner(), width = spec_.width();
  const Tensor mixed = convolution_.forward(all.narrow(1, inner, width), context.pool, context.places.step.states.value(), {.silu = true});
  Tensor steps = nn::softplus(all.narrow(1, inner + width, spec_.heads) + step_bias_);
  if (spec_.least_step > 0) steps = steps.maximum(spec_.least_step);
  const Tensor y = gated(states_of(mixed, steps, context), all.narrow(1, 0, inner));
  context.show_input({out_.name}, y);
  return context.product(out_, y);
}

}  // namespace

std::unique_ptr<Mixer> build_state_space(const StateSpaceSpec& spec, WeightReader& weights, const MixerPlace& place) {
  return std::make_unique<StateSpaceMixer>(spec, weights, place, fmt::format("blk.{}.", place.layer));
}

}  // namespace wick
