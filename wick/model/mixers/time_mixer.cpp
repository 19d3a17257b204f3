// RWKV 7: time mixing, for some positions at once, and channel mixing.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "wick/model/mixers/mixer.h"
#include "wick/model/mixers/recurrent.h"
#include "wick/tensor/ops/normalize.h"

namespace wick {
namespace {

// Decays are e^(-e^(-1/2) · sigmoid).
constexpr double kDecayScale = -0.6065306597126334;
// Of the length that keys are divided by.
constexpr float kKeyEpsilon = 1e-24F;

// up(activation(down(x))), of a low rank.
struct NarrowPair {
  ScaledMatrix down, up;

  NarrowPair(WeightReader& weights, const std::string& name, int64_t rank, int64_t width)
      : down(weights.matrix(name + "1", rank, width)), up(weights.matrix(name + "2", width, rank)) {}

  template <class Activation>
  [[nodiscard]] Tensor of(const Tensor& x, const MixerContext& context, const Activation& activation) const {
    context.show_input({down.name}, x);
    const Tensor narrow = activation(context.product(down, x));
    context.show_input({up.name}, narrow);
    return context.product(up, narrow);
  }
};

class TimeMixer final : public Mixer {
 public:
  TimeMixer(const TimeMixSpec& spec, WeightReader& weights, const MixerPlace& place, const std::string& prefix);

  [[nodiscard]] Tensor forward(const Tensor& normed, const MixerContext& context) const override;
  [[nodiscard]] std::vector<const ScaledMatrix*> matrices() const override {
    std::vector<const ScaledMatrix*> all{&read_, &key_, &value_, &out_, &decay_.down, &decay_.up, &rate_.down, &rate_.up};
    for (const std::optional<NarrowPair>* pair : {&value_mix_, &gate_}) {
      if (*pair) all.insert(all.end(), {&(*pair)->down, &(*pair)->up});
    }
    return all;
  }
  [[nodiscard]] std::vector<ScaledMatrix*> adaptable() override { return {&read_, &key_, &value_, &out_}; }

 private:
  // What columns of the rows are after moving them, by their places in time_mix_lerp_fused.
  enum Moved { for_reads, for_decays, for_keys, for_values, for_rates, for_gates };
  // Rows of some sequences, which have equally many: [sequences, positions, heads, head_dim].
  struct Rows {
    Tensor reads, decays, keys, values;  // decays: logarithms of what is left of a state's rows
    Tensor removed, added;               // what the state holds under the first key goes to the second one
  };
  // What positions from `first` on, at most kChannelChunk, give: [sequences, positions, heads, head_dim]. `state` [sequences, heads,
  // head_dim, head_dim] is then the one after them.
  [[nodiscard]] Tensor scan(const Rows& rows, int64_t first, int64_t count, Tensor& state) const;
  // [rows, hidden_size] of all sequences, from tensors of that shape.
  [[nodiscard]] Tensor states_of(const Rows& all, const MixerContext& context) const;
  [[nodiscard]] Tensor product(const ScaledMatrix& matrix, const Tensor& x, const MixerContext& context) const {
    context.show_input({matrix.name}, x);
    return context.product(matrix, x);
  }
  [[nodiscard]] Tensor moved_values(const Tensor& values, const Tensor& moved, const MixerContext& context) const;

  TimeMixSpec spec_;
  bool deterministic_;
  int64_t width_;
  ScaledMatrix read_, key_, value_, out_;
  NarrowPair decay_, rate_;
  std::optional<NarrowPair> value_mix_, gate_;
  TokenShift shift_;
  StateRange state_;
  std::vector<Tensor> lerps_;
  Tensor decay_bias_, rate_bias_, value_bias_, key_scale_, rate_share_, bonus_, norm_, norm_bias_;
  Tensor key_length_, unit_, zero_;  // [head_dim]
  TriangleInverse inverse_;
};

TimeMixer::TimeMixer(const TimeMixSpec& spec, WeightReader& weights, const MixerPlace& place, const std::string& prefix)
    : spec_(spec),
      deterministic_(weights.deterministic()),
      width_(place.hidden_size),
      read_(weights.matrix(prefix + "receptance", width_, width_)),
      key_(weights.matrix(prefix + "key", width_, width_)),
      value_(weights.matrix(prefix + "value", width_, width_)),
      out_(weights.matrix(prefix + "output", width_, width_)),
      decay_(weights, prefix + "w", spec.decay_rank, width_),
      rate_(weights, prefix + "a", spec.rate_rank, width_),
      shift_(place.recurrent, width_),
      state_(place.recurrent, width_, width_ * spec.head_dim),
      decay_bias_(weights.vector(prefix + "w0.weight", width_)),
      rate_bias_(weights.vector(prefix + "a0.weight", width_)),
      key_scale_(weights.vector(prefix + "k_k.weight", width_)),
      rate_share_(weights.vector(prefix + "k_a.weight", width_)),
      bonus_(weights.vector(prefix + "r_k.weight", width_).reshape({spec.heads, spec.head_dim})),
      norm_(weights.vector(prefix + "ln.weight", width_).reshape({spec.heads, spec.head_dim})),
      norm_bias_(weights.vector(prefix + "ln.bias", width_).reshape({spec.heads, spec.head_dim})),
      inverse_(weights.device()) {
  if (!spec.first) {
    value_mix_.emplace(weights, prefix + "v", spec.value_rank, width_);
    value_bias_ = weights.vector(prefix + "v0.weight", width_);
  }
  if (spec.gate_rank > 0) gate_.emplace(weights, prefix + "g", spec.gate_rank, width_);
  const int64_t lerps = spec.gate_rank > 0 ? for_gates + 1 : for_gates;
  const Tensor fused = weights.kernels(prefix + "lerp_fused.weight", lerps, width_);
  for (int64_t index = 0; index < lerps; ++index) lerps_.push_back(fused.narrow(0, index, 1).reshape({width_}));
  const auto size = static_cast<double>(spec.head_dim);
  key_length_ = Tensor::full({spec.head_dim}, 1 / std::sqrt(size), DType::f32, weights.device());
  unit_ = Tensor::ones({spec.head_dim}, DType::f32, weights.device());
  zero_ = Tensor::zeros({spec.head_dim}, DType::f32, weights.device());
}

// Of the state S before the chunk and the sums G of decays, a position's removal reads u = a · S' of the state S' before it:
// (a · e^G before it) · S + Σ of earlier positions (a · what is left of b) u + (a · what is left of k) v.
Tensor TimeMixer::scan(const Rows& rows, int64_t first, int64_t count, Tensor& state) const {
  const auto part = [&](const Tensor& whole) { return whole.narrow(1, first, count).transpose(1, 2).contiguous(); };
  const Tensor reads = part(rows.reads), keys = part(rows.keys), values = part(rows.values), decays = part(rows.decays);
  const Tensor removed = part(rows.removed), added = part(rows.added);
  const Tensor sums = decays.cumsum(-2);  // [sequences, heads, positions, head_dim]
  const Tensor before = sums - decays;
  Tensor taken = (removed * before.exp()).matmul(state);
  Tensor by_added = (reads * added).sum_keepdim(-1), by_keys = (reads * keys).sum_keepdim(-1);
  if (count > 1) {
    // Of the later position by the earlier one: what is left of each channel. It is at most 1, where factors of both might overflow.
    const auto scores = [&](const Tensor& later, const Tensor& until, const Tensor& earlier) {
      const Tensor left = (until.unsqueeze(3) - sums.unsqueeze(2)).minimum(0.0).exp();
      return (later.unsqueeze(3) * left * earlier.unsqueeze(2)).sum(-1);
    };
    taken = taken + scores(removed, before, keys).tril(-1).matmul(values);
    taken = inverse_(scores(removed, before, added).tril(-1).neg()).matmul(taken);
    by_added = scores(reads, sums, added).tril();
    by_keys = scores(reads, sums, keys).tril();
  }
  const Tensor y = (reads * sums.exp()).matmul(state) + by_added.matmul(taken) + by_keys.matmul(values);
  const Tensor last = sums.narrow(2, count - 1, 1);
  const Tensor left = (last - sums).exp();
  state = state * last.exp().transpose(-1, -2) + (added * left).transpose(-1, -2).matmul(taken) +
          (keys * left).transpose(-1, -2).matmul(values);
  return y.transpose(1, 2);
}

Tensor TimeMixer::states_of(const Rows& all, const MixerContext& context) const {
  const StateInputs& step = context.places.step.states.value();
  const Tensor before = state_.read(context.pool, step);
  // Whatever else comes in, and in how many parts: position by position, sequence by sequence.
  const int64_t chunk = deterministic_ ? 1 : kChannelChunk, heads = spec_.heads, head_dim = spec_.head_dim;
  std::vector<Tensor> parts;
  for (const SequenceRun& run : runs_of(step, deterministic_)) {
    const auto of_run = [&](const Tensor& whole) { return run.rows_of(whole, 0, {heads, head_dim}); };
    const Rows rows{.reads = of_run(all.reads),
                    .decays = of_run(all.decays),
                    .keys = of_run(all.keys),
                    .values = of_run(all.values),
                    .removed = of_run(all.removed),
                    .added = of_run(all.added)};
    Tensor state = before.narrow(0, run.first, run.sequences).reshape({run.sequences, heads, head_dim, head_dim});
    const Tensor y = in_chunks(run.positions, chunk, [&](int64_t first, int64_t count) { return scan(rows, first, count, state); });
    state_.write(context.pool, step, run.first, state.reshape({run.sequences, width_ * head_dim}));
    parts.push_back(y.reshape({run.sequences * run.positions, width_}));
  }
  return joined(parts, 0);
}

Tensor TimeMixer::moved_values(const Tensor& values, const Tensor& moved, const MixerContext& context) const {
  Tensor& first = *context.places.first_values;
  if (spec_.first) {
    first = values;
    return values;
  }
  const Tensor share = (value_mix_->of(moved, context, [](const Tensor& x) { return x; }) + value_bias_).sigmoid();
  return values + (first.to_device(values.device()) - values) * share;
}

Tensor TimeMixer::forward(const Tensor& normed, const MixerContext& context) const {
  const int64_t rows = normed.dim(0);
  const Shape by_head{rows, spec_.heads, spec_.head_dim};
  const Tensor change = shift_.forward(normed, context.pool, context.places.step.states.value()) - normed;
  const auto moved = [&](Moved use) { return normed + change * lerps_[use]; };
  const Tensor reads = product(read_, moved(for_reads), context);
  const Tensor narrow = decay_.of(moved(for_decays), context, [](const Tensor& x) { return x.tanh(); });
  const Tensor decays = (narrow + decay_bias_).sigmoid() * kDecayScale;
  const Tensor keys = product(key_, moved(for_keys), context);
  const Tensor for_value = moved(for_values);
  const Tensor values = moved_values(product(value_, for_value, context), for_value, context);
  const Tensor rates = (rate_.of(moved(for_rates), context, [](const Tensor& x) { return x; }) + rate_bias_).sigmoid();
  const RmsNormParams params{kKeyEpsilon / static_cast<float>(spec_.head_dim), deterministic_};
  const Tensor directions = rms_norm((keys * key_scale_).reshape(by_head), key_length_, params).reshape({rows, width_});
  const Tensor rated_keys = keys + keys * rate_share_ * (rates - 1.0);
  const Tensor y = states_of(
      {.reads = reads, .decays = decays, .keys = rated_keys, .values = values, .removed = directions.neg(), .added = directions * rates},
      context);
  const Tensor normalized = layer_norm(y.reshape(by_head), unit_, zero_, spec_.norm_epsilon) * norm_ + norm_bias_;
  const Tensor bonus = ((reads * rated_keys).reshape(by_head) * bonus_).sum_keepdim(-1) * values.reshape(by_head);
  Tensor result = (normalized + bonus).reshape({rows, width_});
  if (gate_) result = result * gate_->of(moved(for_gates), context, [](const Tensor& x) { return x.sigmoid(); });
  return product(out_, result, context);
}

class ChannelMixer final : public Mixer {
 public:
  ChannelMixer(const ChannelMixSpec& spec, WeightReader& weights, const MixerPlace& place, const std::string& prefix)
      : key_(weights.matrix(prefix + "key", spec.width, place.hidden_size)),
        value_(weights.matrix(prefix + "value", place.hidden_size, spec.width)),
        lerp_(weights.vector(prefix + "lerp_k.weight", place.hidden_size)),
        shift_(place.recurrent, place.hidden_size) {}

  [[nodiscard]] Tensor forward(const Tensor& normed, const MixerContext& context) const override {
    const Tensor before = shift_.forward(normed, context.pool, context.places.step.states.value());
    const Tensor moved = normed + (before - normed) * lerp_;
    context.show_input({key_.name}, moved);
    const Tensor hidden = context.product(key_, moved).relu().sqr();
    context.show_input({value_.name}, hidden);
    return context.product(value_, hidden);
  }
  [[nodiscard]] std::vector<const ScaledMatrix*> matrices() const override { return {&key_, &value_}; }
  [[nodiscard]] std::vector<ScaledMatrix*> adaptable() override { return {&key_, &value_}; }

 private:
  ScaledMatrix key_, value_;
  Tensor lerp_;
  TokenShift shift_;
};

}  // namespace

std::unique_ptr<Mixer> build_time_mix(const TimeMixSpec& spec, WeightReader& weights, const MixerPlace& place) {
  return std::make_unique<TimeMixer>(spec, weights, place, fmt::format("blk.{}.time_mix_", place.layer));
}

std::unique_ptr<Mixer> build_channel_mix(const ChannelMixSpec& spec, WeightReader& weights, const MixerPlace& place) {
  return std::make_unique<ChannelMixer>(spec, weights, place, fmt::format("blk.{}.channel_mix_", place.layer));
}

}  // namespace wick
