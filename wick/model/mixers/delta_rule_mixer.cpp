// The gated delta rule, for some positions at once (Yang, Kautz & Hatamizadeh 2025): what each position changes depends on what the ones
// before it changed, which is a triangular system.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "wick/model/mixers/mixer.h"
#include "wick/model/mixers/recurrent.h"
#include "wick/nn/activation.h"
#include "wick/tensor/ops/normalize.h"

namespace wick {
namespace {

// Positions at once: a power of two.
constexpr int64_t kDeltaChunk = TriangleInverse::kMaxPositions;
// Of queries' and keys' lengths.
constexpr float kLengthEpsilon = 1e-6F;

class DeltaRuleMixer final : public Mixer {
 public:
  DeltaRuleMixer(const DeltaRuleSpec& spec, WeightReader& weights, const MixerPlace& place, const std::string& prefix);

  [[nodiscard]] Tensor forward(const Tensor& normed, const MixerContext& context) const override;
  [[nodiscard]] std::vector<const ScaledMatrix*> matrices() const override {
    std::vector<const ScaledMatrix*> all{&beta_, &out_};
    for (const auto* group : {&qkv_, &gate_, &alpha_}) {
      for (const ScaledMatrix& matrix : *group) all.push_back(&matrix);
    }
    return all;
  }
  [[nodiscard]] std::vector<ScaledMatrix*> adaptable() override {
    std::vector<ScaledMatrix*> all{&beta_, &out_};
    for (auto* group : {&qkv_, &gate_, &alpha_}) {
      for (ScaledMatrix& matrix : *group) all.push_back(&matrix);
    }
    return all;
  }

 private:
  // Rows of some sequences, which have equally many: [sequences, positions, …].
  struct Rows {
    Tensor queries, keys;  // [.., key_heads, key_dim]
    Tensor values;         // [.., value_heads, value_dim]
    Tensor shares;         // [.., value_heads]: how far what a key holds moves towards the value
    Tensor decays;         // the same, or [.., value_heads, key_dim]: logarithms of what is left of a state, or of its rows
  };
  // What positions from `first` on, at most kDeltaChunk, give: [sequences, positions, value_heads, value_dim]. `state` [sequences,
  // value_heads, key_dim, value_dim] is then the one after them.
  [[nodiscard]] Tensor scan(const Rows& rows, int64_t first, int64_t count, Tensor& state) const;
  // The same where each row of a state decays by itself, of at most kChannelChunk positions.
  [[nodiscard]] Tensor scan_by_channel(const Rows& rows, int64_t first, int64_t count, Tensor& state) const;
  // What all positions give, one by one: [sequences, positions, value_heads, value_dim].
  [[nodiscard]] Tensor changed(const Rows& rows, const SequenceRun& run, const MixerContext& context) const;
  // Those of the value heads: [sequences, value_heads, positions, key_dim].
  [[nodiscard]] Tensor of_value_heads(const Tensor& of_key_heads) const;
  // x times the first matrix, and so on.
  [[nodiscard]] static Tensor through(const std::vector<ScaledMatrix>& matrices, Tensor x, const MixerContext& context);
  // [rows, value_heads], or [rows, value_heads · key_dim].
  [[nodiscard]] Tensor decays_of(const Tensor& alpha) const;
  // [rows, value_heads, value_dim], of all sequences.
  [[nodiscard]] Tensor states_of(const Tensor& mixed, const Tensor& shares, const Tensor& decays, const MixerContext& context) const;

  DeltaRuleSpec spec_;
  bool deterministic_, joined_;             // beta_ has alpha's rows too
  std::vector<ScaledMatrix> qkv_;           // of queries, keys and values: one, or three
  std::vector<ScaledMatrix> gate_, alpha_;  // the first one's result goes through the next
  ScaledMatrix beta_, out_;
  ShortConvolution convolution_;
  StateRange state_;
  Tensor decay_, decay_bias_, norm_;
  Tensor query_length_, key_length_;  // [key_dim]: what normalized queries and keys are multiplied by
  TriangleInverse inverse_;
};

ShortConvolution delta_convolution(const DeltaRuleSpec& spec, WeightReader& weights, const std::string& prefix, int64_t recurrent) {
  const std::string name = prefix + "ssm_conv1d";
  if (!spec.by_channel) return ShortConvolution(weights, name, recurrent, spec.width(), spec.kernel);
  return ShortConvolution(weights, std::vector{name + "_q", name + "_k", name + "_v"}, recurrent, spec.width(), spec.kernel);
}

DeltaRuleMixer::DeltaRuleMixer(const DeltaRuleSpec& spec, WeightReader& weights, const MixerPlace& place, const std::string& prefix)
    : spec_(spec),
      deterministic_(weights.deterministic()),
      joined_(weights.has(prefix + "ssm_ba.weight")),
      beta_(weights.matrix(prefix + (joined_ ? "ssm_ba" : "ssm_beta"), (joined_ ? 2 : 1) * spec.value_heads, place.hidden_size)),
      out_(weights.matrix(prefix + (spec.by_channel ? "attn_output" : "ssm_out"), place.hidden_size, spec.inner())),
      convolution_(delta_convolution(spec, weights, prefix, place.recurrent)),
      state_(place.recurrent, (spec.kernel - 1) * spec.width(), spec.inner() * spec.key_dim),
      decay_bias_(weights.vector(prefix + "ssm_dt.bias", spec.by_channel ? spec.keys() : spec.value_heads)),
      norm_(weights.vector(prefix + "ssm_norm.weight", spec.value_dim)),
      inverse_(weights.device()) {
  const int64_t hidden_size = place.hidden_size;
  const auto add_pair = [&](std::vector<ScaledMatrix>& matrices, const std::string& name, int64_t rows) {
    matrices.push_back(weights.matrix(prefix + name + "_a", spec.key_dim, hidden_size));
    matrices.push_back(weights.matrix(prefix + name + "_b", rows, spec.key_dim));
  };
  const bool narrow_gate = spec.by_channel && weights.has(prefix + "ssm_g_a.weight");
  if (narrow_gate) add_pair(gate_, "ssm_g", spec.inner());
  if (!narrow_gate) gate_.push_back(weights.matrix(prefix + "attn_gate", spec.inner(), hidden_size));
  if (spec.by_channel) {
    qkv_.push_back(weights.matrix(prefix + "attn_q", spec.keys(), hidden_size));
    qkv_.push_back(weights.matrix(prefix + "attn_k", spec.keys(), hidden_size));
    qkv_.push_back(weights.matrix(prefix + "attn_v", spec.inner(), hidden_size));
    add_pair(alpha_, "ssm_f", spec.keys());
    decay_ = weights.vectors(prefix + "ssm_a", spec.value_heads, 1);
  } else {
    qkv_.push_back(weights.matrix(prefix + "attn_qkv", spec.width(), hidden_size));
    if (!joined_) alpha_.push_back(weights.matrix(prefix + "ssm_alpha", spec.value_heads, hidden_size));
    decay_ = weights.vector(prefix + "ssm_a", spec.value_heads);
  }
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
    moved = inverse_((keys.matmul(keys.transpose(-1, -2)) * left * shares).tril(-1)).matmul(moved);
  }
  const Tensor y = queries.matmul(state) * since + scores.matmul(moved);
  const Tensor last = sums.narrow(-1, count - 1, 1);
  const Tensor kept = keys * (last - sums).exp().unsqueeze(-1);
  state = state * last.exp().unsqueeze(-1) + kept.transpose(-1, -2).matmul(moved);
  return y.transpose(1, 2);
}

Tensor DeltaRuleMixer::scan_by_channel(const Rows& rows, int64_t first, int64_t count, Tensor& state) const {
  const auto part = [&](const Tensor& whole) { return whole.narrow(1, first, count).transpose(1, 2).contiguous(); };
  const Tensor queries = part(rows.queries), keys = part(rows.keys);
  const Tensor shares = part(rows.shares).unsqueeze(-1);  // [sequences, heads, positions, 1]
  const Tensor sums = part(rows.decays).cumsum(-2);       // [sequences, heads, positions, key_dim]
  const Tensor since = sums.exp();
  Tensor moved = (part(rows.values) - (keys * since).matmul(state)) * shares;
  Tensor scores = (queries * keys).sum_keepdim(-1);
  if (count > 1) {
    // Of the later position by the earlier one: what is left of each channel. It is at most 1, where factors of both might overflow.
    const Tensor left = (sums.unsqueeze(3) - sums.unsqueeze(2)).minimum(0.0).exp() * keys.unsqueeze(2);
    scores = (queries.unsqueeze(3) * left).sum(-1).tril();
    moved = inverse_(((keys.unsqueeze(3) * left).sum(-1) * shares).tril(-1)).matmul(moved);
  }
  const Tensor y = (queries * since).matmul(state) + scores.matmul(moved);
  const Tensor last = sums.narrow(2, count - 1, 1);
  const Tensor kept = keys * (last - sums).exp();
  state = state * last.exp().transpose(-1, -2) + kept.transpose(-1, -2).matmul(moved);
  return y.transpose(1, 2);
}

Tensor DeltaRuleMixer::changed(const Rows& rows, const SequenceRun& run, const MixerContext& context) const {
  const Tensor decays = rows.decays.exp();
  const RecurrentRows changes{.query = rows.queries,
                              .key = rows.keys,
                              .value = rows.values,
                              .decay = spec_.by_channel ? decays : decays.unsqueeze(-1),
                              .rate = rows.shares};
  const RecurrentStepParams params{.delta = true, .interleaved = spec_.interleaved};
  return state_.change(context.pool, context.places.step.states.value(), run, changes, params);
}

Tensor DeltaRuleMixer::states_of(const Tensor& mixed, const Tensor& shares, const Tensor& decays, const MixerContext& context) const {
  const StateInputs& step = context.places.step.states.value();
  const int64_t chunk = spec_.by_channel ? kChannelChunk : kDeltaChunk, heads = spec_.value_heads;
  const RmsNormParams params{kLengthEpsilon / static_cast<float>(spec_.key_dim), deterministic_};
  std::vector<Tensor> parts;
  for (const SequenceRun& run : runs_of(step)) {
    const auto directions = [&](int64_t column, const Tensor& length) {
      return rms_norm(run.rows_of(mixed, column, {spec_.key_heads, spec_.key_dim}), length, params);
    };
    const Rows rows{.queries = directions(0, query_length_),
                    .keys = directions(spec_.keys(), key_length_),
                    .values = run.rows_of(mixed, 2 * spec_.keys(), {heads, spec_.value_dim}),
                    .shares = run.rows_of(shares, 0, {heads}),
                    .decays = spec_.by_channel ? run.rows_of(decays, 0, {heads, spec_.key_dim}) : run.rows_of(decays, 0, {heads})};
    const Shape by_head{run.sequences * run.positions, heads, spec_.value_dim};
    if (by_position(run, deterministic_, mixed.device())) {
      parts.push_back(changed(rows, run, context).reshape(by_head));
      continue;
    }
    Tensor state = state_.read(context.pool, step, run.first, run.sequences);
    state = state.reshape({run.sequences, heads, spec_.key_dim, spec_.value_dim});
    const Tensor y = in_chunks(run.positions, chunk, [&](int64_t first, int64_t count) {
      return spec_.by_channel ? scan_by_channel(rows, first, count, state) : scan(rows, first, count, state);
    });
    state_.write(context.pool, step, run.first, state.reshape({run.sequences, spec_.inner() * spec_.key_dim}));
    parts.push_back(y.reshape(by_head));
  }
  return joined(parts, 0);
}

Tensor DeltaRuleMixer::through(const std::vector<ScaledMatrix>& matrices, Tensor x, const MixerContext& context) {
  for (const ScaledMatrix& matrix : matrices) {
    context.show_input({matrix.name}, x);
    x = context.product(matrix, x);
  }
  return x;
}

Tensor DeltaRuleMixer::decays_of(const Tensor& alpha) const {
  const Tensor steps = nn::softplus(alpha + decay_bias_);
  if (!spec_.by_channel) return steps * decay_;
  return (steps.reshape({alpha.dim(0), spec_.key_heads, spec_.key_dim}) * decay_).reshape(alpha.shape());
}

Tensor DeltaRuleMixer::forward(const Tensor& normed, const MixerContext& context) const {
  const int64_t heads = spec_.value_heads, rows = normed.dim(0);
  std::vector<Tensor> products;
  for (const ScaledMatrix& matrix : qkv_) {
    context.show_input({matrix.name}, normed);
    products.push_back(context.product(matrix, normed));
  }
  const Tensor mixed_in = joined(products, 1);
  const Tensor mixed = convolution_.forward(mixed_in, context.pool, context.places.step.states.value(), {.silu = true});
  context.show_input({beta_.name}, normed);
  Tensor beta = context.product(beta_, normed), alpha;
  if (joined_) {
    const Tensor both = beta.reshape({rows, spec_.key_heads, 2, heads / spec_.key_heads});
    beta = both.narrow(2, 0, 1).reshape({rows, heads});
    alpha = both.narrow(2, 1, 1).reshape({rows, heads});
  } else {
    alpha = through(alpha_, normed, context);
  }
  const Tensor states = states_of(mixed, beta.sigmoid(), decays_of(alpha), context);
  const Tensor heads_of = rms_norm(states, norm_, {spec_.norm_epsilon, deterministic_});
  const Tensor gate = through(gate_, normed, context);
  const Tensor y = heads_of.reshape({rows, spec_.inner()}) * (spec_.by_channel ? gate.sigmoid() : gate.silu());
  context.show_input({out_.name}, y);
  return context.product(out_, y);
}

}  // namespace

std::unique_ptr<Mixer> build_delta_rule(const DeltaRuleSpec& spec, WeightReader& weights, const MixerPlace& place) {
  return std::make_unique<DeltaRuleMixer>(spec, weights, place, fmt::format("blk.{}.", place.layer));
}

}  // namespace wick
