// Lightning attention: linear attention with a decay of each head, for some positions at once (Qin et al. 2024; MiniMax 2025).
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "wick/model/mixers/mixer.h"
#include "wick/model/mixers/recurrent.h"
#include "wick/nn/activation.h"

namespace wick {
namespace {

// Positions at once: scores of each with each are made.
constexpr int64_t kLightningChunk = 64;

class LightningAttentionMixer final : public Mixer {
 public:
  LightningAttentionMixer(const LightningAttentionSpec& spec, WeightReader& weights, const MixerPlace& place, const std::string& prefix);

  [[nodiscard]] Tensor forward(const Tensor& normed, const MixerContext& context) const override;
  [[nodiscard]] std::vector<const ScaledMatrix*> matrices() const override { return {&qkv_, &gate_, &out_}; }
  [[nodiscard]] std::vector<ScaledMatrix*> adaptable() override { return {&qkv_, &gate_, &out_}; }

 private:
  [[nodiscard]] int64_t inner() const { return spec_.heads * spec_.head_dim; }
  // What `count` positions from `first` on, at most kLightningChunk, give: [sequences, positions, heads, head_dim]. qkv: [sequences,
  // positions, heads, 3 · head_dim]. `state` [sequences, heads, head_dim, head_dim] is then the one after them.
  [[nodiscard]] Tensor attend(const Tensor& qkv, int64_t first, int64_t count, Tensor& state) const;
  // What all positions give, one by one: [sequences, positions, heads, head_dim].
  [[nodiscard]] Tensor changed(const Tensor& qkv, const SequenceRun& run, const MixerContext& context) const;
  // [rows, inner] of all sequences.
  [[nodiscard]] Tensor attend_all(const Tensor& qkv, const MixerContext& context) const;

  LightningAttentionSpec spec_;
  bool deterministic_;
  ScaledMatrix qkv_, gate_, out_;
  Norm norm_;
  StateRange state_;
  // What is left of a state after 1, 2 … positions, and of each of kLightningChunk positions after the last: [heads, kLightningChunk, 1].
  Tensor left_, left_after_;
  Tensor left_between_;  // of an earlier position at a later one: [heads, kLightningChunk, kLightningChunk]
  Tensor rate_;          // 1 for each head
};

LightningAttentionMixer::LightningAttentionMixer(const LightningAttentionSpec& spec, WeightReader& weights, const MixerPlace& place,
                                                 const std::string& prefix)
    : spec_(spec),
      deterministic_(weights.deterministic()),
      qkv_(weights.matrix(prefix + "attn_qkv", 3 * inner(), place.hidden_size)),
      gate_(weights.matrix(prefix + "attn_gate", inner(), place.hidden_size)),
      out_(weights.matrix(prefix + "attn_output", place.hidden_size, inner())),
      norm_({"attn_norm_2", NormKind::rms, spec.norm_epsilon}, weights, prefix, inner()),
      state_(place.recurrent, 0, inner() * spec.head_dim) {
  std::vector<float> left, left_after, left_between;
  for (int64_t head = 1; head <= spec.heads; ++head) {
    const double slope = spec.rate * std::exp2(-8.0 * static_cast<double>(head) / static_cast<double>(spec.heads));
    const auto after = [&](int64_t positions) { return static_cast<float>(std::exp(-slope * static_cast<double>(positions))); };
    for (int64_t later = 0; later < kLightningChunk; ++later) {
      left.push_back(after(later + 1));
      left_after.push_back(after(kLightningChunk - 1 - later));
      for (int64_t earlier = 0; earlier < kLightningChunk; ++earlier) {
        left_between.push_back(earlier <= later ? after(later - earlier) : 0);
      }
    }
  }
  left_ = Tensor::from_vector(left, {spec.heads, kLightningChunk, 1}, weights.device());
  left_after_ = Tensor::from_vector(left_after, {spec.heads, kLightningChunk, 1}, weights.device());
  left_between_ = Tensor::from_vector(left_between, {spec.heads, kLightningChunk, kLightningChunk}, weights.device());
  rate_ = Tensor::ones({spec.heads}, DType::f32, weights.device());
}

Tensor LightningAttentionMixer::attend(const Tensor& qkv, int64_t first, int64_t count, Tensor& state) const {
  const Tensor by_head = qkv.narrow(1, first, count).transpose(1, 2);
  const auto part = [&](int64_t index) { return by_head.narrow(-1, index * spec_.head_dim, spec_.head_dim).contiguous(); };
  const Tensor queries = part(0), keys = part(1), values = part(2);
  const Tensor scores = queries.matmul(keys.transpose(-1, -2)) * left_between_.narrow(1, 0, count).narrow(2, 0, count);
  const Tensor y = (queries * left_.narrow(1, 0, count)).matmul(state) + scores.matmul(values);
  const Tensor kept = keys * left_after_.narrow(1, kLightningChunk - count, count);
  state = state * left_.narrow(1, count - 1, 1) + kept.transpose(-1, -2).matmul(values);
  return y.transpose(1, 2);
}

Tensor LightningAttentionMixer::changed(const Tensor& qkv, const SequenceRun& run, const MixerContext& context) const {
  const auto part = [&](int64_t index) { return qkv.narrow(-1, index * spec_.head_dim, spec_.head_dim); };
  const Shape of_heads{run.sequences, run.positions, spec_.heads};
  const RecurrentRows changes{.query = part(0),
                              .key = part(1),
                              .value = part(2),
                              .decay = left_.narrow(1, 0, 1).reshape({spec_.heads}).broadcast_to(of_heads).unsqueeze(-1),
                              .rate = rate_.broadcast_to(of_heads)};
  return state_.change(context.pool, context.places.step.states.value(), run, changes, {});
}

Tensor LightningAttentionMixer::attend_all(const Tensor& qkv, const MixerContext& context) const {
  const StateInputs& step = context.places.step.states.value();
  const int64_t heads = spec_.heads, head_dim = spec_.head_dim;
  std::vector<Tensor> parts;
  for (const SequenceRun& run : runs_of(step)) {
    const Tensor rows = run.rows_of(qkv, 0, {heads, 3 * head_dim});
    Tensor y;
    if (by_position(run, deterministic_, qkv.device())) {
      y = changed(rows, run, context);
    } else {
      Tensor state = state_.read(context.pool, step, run.first, run.sequences);
      state = state.reshape({run.sequences, heads, head_dim, head_dim});
      y = in_chunks(run.positions, kLightningChunk, [&](int64_t first, int64_t count) { return attend(rows, first, count, state); });
      state_.write(context.pool, step, run.first, state.reshape({run.sequences, inner() * head_dim}));
    }
    parts.push_back(y.reshape({run.sequences * run.positions, inner()}));
  }
  return joined(parts, 0);
}

Tensor LightningAttentionMixer::forward(const Tensor& normed, const MixerContext& context) const {
  context.show_input({qkv_.name, gate_.name}, normed);
  const Tensor qkv = nn::Activation(spec_.activation).forward(context.product(qkv_, normed));
  const Tensor y = norm_(attend_all(qkv, context)) * context.product(gate_, normed).sigmoid();
  context.show_input({out_.name}, y);
  return context.product(out_, y);
}

}  // namespace

std::unique_ptr<Mixer> build_lightning_attention(const LightningAttentionSpec& spec, WeightReader& weights, const MixerPlace& place) {
  return std::make_unique<LightningAttentionMixer>(spec, weights, place, fmt::format("blk.{}.", place.layer));
}

}  // namespace wick
