// The gated delta rule, for some positions at once (Yang, Kautz & Hatamizadeh 2025): what each position changes depends on what the ones
// before it changed, which is a triangular system.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "wick/model/mixers/mixer.h"
#include "wick/model/mixers/recurrent.h"
#include "wick/nn/activation.h"
#include "wick/tensor/ops/normalize.h"

namespace wick {
namespace {

// Positions at once: a power of two.
constexpr int64_t kDeltaChunk = 64;
// Of queries' and keys' lengths.
constexpr float kLengthEpsilon = 1e-6F;

// For blocks of 1, 2, 4 … positions, 1 where row and column are in neighbouring blocks that the next larger blocks join: [chunk, chunk].
std::vector<Tensor> joining_masks(const Device& device) {
  std::vector<Tensor> masks;
  for (int64_t size = 1; size < kDeltaChunk; size *= 2) {
    std::vector<float> mask;
    for (int64_t row = 0; row < kDeltaChunk; ++row) {
      for (int64_t column = 0; column < kDeltaChunk; ++column) {
        mask.push_back(row / (2 * size) == column / (2 * size) && row / size > column / size ? 1.0F : 0.0F);
      }
    }
    masks.push_back(Tensor::from_vector(mask, {kDeltaChunk, kDeltaChunk}, device));
  }
  return masks;
}

class DeltaRuleMixer final : public Mixer {
 public:
  DeltaRuleMixer(const DeltaRuleSpec& spec, WeightReader& weights, const MixerPlace& place, const std::string& prefix);

  [[nodiscard]] Tensor forward(const Tensor& normed, const MixerContext& context) const override;
  [[nodiscard]] std::vector<const ScaledMatrix*> matrices() const override {
    if (joined_) return {&qkv_, &gate_, &beta_, &out_};
    return {&qkv_, &gate_, &beta_, &alpha_, &out_};
  }
  [[nodiscard]] std::vector<ScaledMatrix*> adaptable() override {
    if (joined_) return {&qkv_, &gate_, &beta_, &out_};
    return {&qkv_, &gate_, &beta_, &alpha_, &out_};
  }

 private:
  // Rows of some sequences, which have equally many: [sequences, positions, …].
  struct Rows {
    Tensor queries, keys;  // [.., key_heads, key_dim]
    Tensor values;         // [.., value_heads, value_dim]
    Tensor shares;         // [.., value_heads]: how far what a key holds moves towards the value
    Tensor decays;         // the same: logarithms of what is left of a state
  };
  // What positions from `first` on, at most kDeltaChunk, give: [sequences, positions, value_heads, value_dim]. `state` [sequences,
  // value_heads, key_dim, value_dim] is then the one after them.
  [[nodiscard]] Tensor scan(const Rows& rows, int64_t first, int64_t count, Tensor& state) const;
  // (1 + lower)⁻¹ of the strictly lower triangles of [.., positions, positions].
  [[nodiscard]] Tensor inverse(const Tensor& lower) const;
  // Those of the value heads: [sequences, value_heads, positions, key_dim].
  [[nodiscard]] Tensor of_value_heads(const Tensor& of_key_heads) const;
  // [rows, value_heads, value_dim], of all sequences.
  [[nodiscard]] Tensor states_of(const Tensor& mixed, const Tensor& shares, const Tensor& decays, const MixerContext& context) const;

  DeltaRuleSpec spec_;
  bool deterministic_, joined_;  // beta_ has alpha's rows too
  ScaledMatrix qkv_, gate_, beta_, alpha_, out_;
  ShortConvolution convolution_;
  StateRange state_;
  Tensor decay_, decay_bias_, norm_;
  Tensor query_length_, key_length_;  // [key_dim]: what normalized queries and keys are multiplied by
  std::vector<Tensor> masks_;
};

DeltaRuleMixer::DeltaRuleMixer(const DeltaRuleSpec& spec, WeightReader& weights, const MixerPlace& place, const std::string& prefix)
    : spec_(spec),
      deterministic_(weights.deterministic()),
      joined_(weights.has(prefix + "ssm_ba.weight")),
      qkv_(weights.matrix(prefix + "attn_qkv", spec.width(), place.hidden_size)),
      gate_(weights.matrix(prefix + "attn_gate", spec.inner(), place.hidden_size)),
      beta_(weights.matrix(prefix + (joined_ ? "ssm_ba" : "ssm_beta"), (joined_ ? 2 : 1) * spec.value_heads, place.hidden_size)),
      out_(weights.matrix(prefix + "ssm_out", place.hidden_size, spec.inner())),
      convolution_(weights, prefix + "ssm_conv1d", place.recurrent, spec.width(), spec.kernel),
      state_(place.recurrent, (spec.kernel - 1) * spec.width(), spec.inner() * spec.key_dim),
      decay_(weights.vector(prefix + "ssm_a", spec.value_heads)),
      decay_bias_(weights.vector(prefix + "ssm_dt.bias", spec.value_heads)),
      norm_(weights.vector(prefix + "ssm_norm.weight", spec.value_dim)),
      masks_(joining_masks(weights.device())) {
  if (!joined_) alpha_ = weights.matrix(prefix + "ssm_alpha", spec.value_heads, place.hidden_size);
  // x / |x| is the root mean square norm, divided by √n; queries are divided by it once more.
  const auto size = static_cast<double>(spec.key_dim);
  query_length_ = Tensor::full({spec.key_dim}, 1 / size, DType::f32, weights.device());
  key_length_ = Tensor::full({spec.key_dim}, 1 / std::sqrt(size), DType::f32, weights.device());
}

Tensor DeltaRuleMixer::of_value_heads(const Tensor& of_key_heads) const {
  const int64_t sequences = of_key_heads.dim(0), positions = of_key_heads.dim(1), heads = spec_.key_heads;
  const int64_t each = spec_.value_heads / heads;
  const Tensor by_head = of_key_heads.transpose(1, 2).unsqueeze(spec_.interleaved ? 1 : 2);
  const Shape shape =
      spec_.interleaved ? Shape{sequences, each, heads, positions, spec_.key_dim} : Shape{sequences, heads, each, positions, spec_.key_dim};
  return by_head.broadcast_to(shape).reshape({sequences, spec_.value_heads, positions, spec_.key_dim});
}

// Of a block triangle, the inverse is [A⁻¹, 0; -D⁻¹·B·A⁻¹, D⁻¹]: blocks are joined two by two. Sums of powers, which need as few products,
// cancel each other where keys are alike.
Tensor DeltaRuleMixer::inverse(const Tensor& lower) const {
  const int64_t count = lower.dim(-1);
  const auto joined_by = [&](const Tensor& mask) { return lower * mask.narrow(0, 0, count).narrow(1, 0, count); };
  Tensor inverted = Tensor::eye(count, DType::f32, lower.device()) - joined_by(masks_.front());
  for (size_t level = 1; level < masks_.size() && int64_t{1} << level < count; ++level) {
    inverted = inverted - inverted.matmul(joined_by(masks_[level])).matmul(inverted);
  }
  return inverted;
}

Tensor DeltaRuleMixer::scan(const Rows& rows, int64_t first, int64_t count, Tensor& state) const {
  const auto part = [&](const Tensor& whole) { return whole.narrow(1, first, count); };
  const Tensor queries = of_value_heads(part(rows.queries)), keys = of_value_heads(part(rows.keys));
  const Tensor shares = part(rows.shares).transpose(1, 2).unsqueeze(-1);          // [sequences, heads, positions, 1]
  const Tensor sums = part(rows.decays).transpose(1, 2).contiguous().cumsum(-1);  // [sequences, heads, positions]
  const Tensor since = sums.exp().unsqueeze(-1);
  // By how much what the state before the chunk holds under the keys moves; and then by how much what it holds at its position does.
  Tensor moved = (part(rows.values).transpose(1, 2) - keys.matmul(state) * since) * shares;
  Tensor scores = queries.matmul(keys.transpose(-1, -2));
  if (count > 1) {
    // Of the later position by the earlier one: what is left of it.
    const Tensor left = (sums.unsqueeze(-1) - sums.unsqueeze(-2)).minimum(0.0).exp().tril();
    scores = scores * left;
    moved = inverse((keys.matmul(keys.transpose(-1, -2)) * left * shares).tril(-1)).matmul(moved);
  }
  const Tensor y = queries.matmul(state) * since + scores.matmul(moved);
  const Tensor last = sums.narrow(-1, count - 1, 1);
  const Tensor kept = keys * (last - sums).exp().unsqueeze(-1);
  state = state * last.exp().unsqueeze(-1) + kept.transpose(-1, -2).matmul(moved);
  return y.transpose(1, 2);
}

Tensor DeltaRuleMixer::states_of(const Tensor& mixed, const Tensor& shares, const Tensor& decays, const MixerContext& context) const {
  const StateInputs& step = context.places.step.states.value();
  const Tensor before = state_.read(context.pool, step);
  // Whatever else comes in, and in how many parts: position by position, sequence by sequence.
  const int64_t chunk = deterministic_ ? 1 : kDeltaChunk, heads = spec_.value_heads;
  const RmsNormParams params{kLengthEpsilon / static_cast<float>(spec_.key_dim), deterministic_};
  std::vector<Tensor> parts;
  for (const SequenceRun& run : runs_of(step, deterministic_)) {
    const auto directions = [&](int64_t column, const Tensor& length) {
      return rms_norm(run.rows_of(mixed, column, {spec_.key_heads, spec_.key_dim}), length, params);
    };
    const Rows rows{.queries = directions(0, query_length_),
                    .keys = directions(spec_.keys(), key_length_),
                    .values = run.rows_of(mixed, 2 * spec_.keys(), {heads, spec_.value_dim}),
                    .shares = run.rows_of(shares, 0, {heads}),
                    .decays = run.rows_of(decays, 0, {heads})};
    Tensor state = before.narrow(0, run.first, run.sequences).reshape({run.sequences, heads, spec_.key_dim, spec_.value_dim});
    std::vector<Tensor> chunks;
    for (int64_t first = 0; first < run.positions; first += chunk) {
      chunks.push_back(scan(rows, first, std::min(chunk, run.positions - first), state));
    }
    const Tensor y = chunks.size() == 1 ? chunks.front() : Tensor::cat(chunks, 1);
    state_.write(context.pool, step, run.first, state.reshape({run.sequences, spec_.inner() * spec_.key_dim}));
    parts.push_back(y.reshape({run.sequences * run.positions, heads, spec_.value_dim}));
  }
  return parts.size() == 1 ? parts.front() : Tensor::cat(parts, 0);
}

Tensor DeltaRuleMixer::forward(const Tensor& normed, const MixerContext& context) const {
  context.show_input({qkv_.name, gate_.name, beta_.name, alpha_.name}, normed);
  const int64_t heads = spec_.value_heads, rows = normed.dim(0);
  const Tensor mixed = convolution_.forward(context.product(qkv_, normed), context.pool, context.places.step.states.value()).silu();
  Tensor beta = context.product(beta_, normed), alpha;
  if (joined_) {
    const Tensor both = beta.reshape({rows, spec_.key_heads, 2, heads / spec_.key_heads});
    beta = both.narrow(2, 0, 1).reshape({rows, heads});
    alpha = both.narrow(2, 1, 1).reshape({rows, heads});
  } else {
    alpha = context.product(alpha_, normed);
  }
  const Tensor decays = nn::softplus(alpha + decay_bias_) * decay_;
  const Tensor heads_of = rms_norm(states_of(mixed, beta.sigmoid(), decays, context), norm_, {spec_.norm_epsilon, deterministic_});
  const Tensor y = heads_of.reshape({rows, spec_.inner()}) * context.product(gate_, normed).silu();
  context.show_input({out_.name}, y);
  return context.product(out_, y);
}

}  // namespace

std::unique_ptr<Mixer> build_delta_rule(const DeltaRuleSpec& spec, WeightReader& weights, const MixerPlace& place) {
  return std::make_unique<DeltaRuleMixer>(spec, weights, place, fmt::format("blk.{}.", place.layer));
}

}  // namespace wick
