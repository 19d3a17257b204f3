// Grouped-query attention over the paged cache.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "wick/model/mixers/mixer.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/ops/normalize.h"

namespace wick {
namespace {

class AttentionMixer final : public Mixer {
 public:
  AttentionMixer(const AttentionSpec& spec, WeightReader& weights, const MixerPlace& place);

  [[nodiscard]] Tensor forward(const Tensor& normed, const MixerContext& context) const override;
  [[nodiscard]] DType input_dtype(int64_t rows, const MixerContext& context) const override {
    return context.input_dtype(rows,
                               {&query_, projected_ > 1 ? &key_ : nullptr, projected_ > 2 ? &value_ : nullptr, gate_ ? &*gate_ : nullptr});
  }
  [[nodiscard]] std::optional<Tensor> forward_fused(const Tensor& x, const Norm& norm, const MixerContext& context) const override;
  [[nodiscard]] std::vector<const ScaledMatrix*> matrices() const override {
    std::vector<const ScaledMatrix*> all{&query_, &key_, &value_};
    all.resize(projected_);
    all.push_back(&output_);
    if (gate_) all.push_back(&*gate_);
    return all;
  }
  [[nodiscard]] std::vector<ScaledMatrix*> adaptable() override {
    std::vector<ScaledMatrix*> all{&query_, &key_, &value_};
    all.resize(projected_);
    all.push_back(&output_);
    return all;
  }

 private:
  // Queries, keys and values of x, as far as there are matrices for them, their biases added; `fusion` may name a norm.
  [[nodiscard]] std::vector<Tensor> project(const Tensor& x, LinearFusion fusion, const MixerContext& context) const;
  // What attn_output is multiplied by. `gate`: attn_gate's product.
  [[nodiscard]] Tensor heads_of(const std::vector<Tensor>& qkv, std::optional<Tensor> gate, const MixerContext& context) const;
  // `gate`: [rows, heads, head_dim], where heads have one.
  [[nodiscard]] Tensor finished(const Tensor& attended, const std::optional<Tensor>& gate) const;
  // Turns the query, and writes key and value into the cache where they are this layer's.
  [[nodiscard]] Tensor rotated(const Tensor& query, const std::vector<Tensor>& qkv, const MixerContext& context) const;
  [[nodiscard]] Tensor by_head(const Tensor& x, int64_t heads, const std::optional<Tensor>& norm) const;
  [[nodiscard]] Tensor clamped(Tensor x) const { return spec_.clamp == 0 ? std::move(x) : x.clamp(-spec_.clamp, spec_.clamp); }

  AttentionSpec spec_;
  int64_t cached_;
  size_t projected_ = 3;  // how many of query_, key_ and value_ there are
  bool deterministic_;
  ScaledMatrix query_, key_, value_, output_;
  std::optional<ScaledMatrix> gate_;
  std::optional<Tensor> query_bias_, key_bias_, value_bias_, output_bias_;
  std::optional<Tensor> query_norm_, key_norm_;
  std::optional<Tensor> unit_weight_, unit_bias_;  // of layer norms without weights
  std::optional<Norm> sub_norm_;
  std::optional<Tensor> rotated_norm_;  // of queries and keys together, after RoPE
  AttentionBiases biases_;
  std::unique_ptr<ScoreBias> own_bias_;
  bool scaled_ = false;  // one of the projections
};

// The slopes of ALiBi's heads: powers of two for a power of two of them, and between these for the others.
Tensor alibi_slopes(int64_t heads, double most, const Device& device) {
  const auto whole = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(heads)));
  const double base = std::exp2(-most / static_cast<double>(whole)), between = std::exp2(-most / 2 / static_cast<double>(whole));
  std::vector<float> slopes;
  for (int64_t head = 0; head < heads; ++head) {
    const int64_t further = 2 * (head - whole) + 1;
    slopes.push_back(
        static_cast<float>(head < whole ? std::pow(base, static_cast<double>(head + 1)) : std::pow(between, static_cast<double>(further))));
  }
  return Tensor::from_vector(slopes, {heads}, device);
}

// What queries are multiplied by: [tokens, 1, 1].
Tensor temperatures(const QueryTemperature& temperature, const Tensor& positions) {
  const Tensor steps = positions.to_dtype(DType::f32).affine(1 / temperature.length, temperature.first / temperature.length).floor();
  return steps.log1p().affine(temperature.scale, 1).reshape({positions.dim(0), 1, 1});
}

// 0 for positions nearer than the window's size, in both directions, and -inf for others: [heads, tokens, positions], one for all heads.
Tensor near_mask(const StepInputs& step, const AttentionSpec& spec) {
  const Device& device = step.positions.device();
  const int64_t tokens = step.positions.dim(0);
  const Tensor own = step.positions.to_dtype(DType::f32).reshape({tokens, 1});
  const Tensor others = Tensor::arange(0, static_cast<double>(step.longest), DType::f32, device).reshape({1, step.longest});
  const Tensor near = (own - others).abs().lt(static_cast<double>(spec.retention.size));
  const Tensor zero = Tensor::zeros(Shape(), DType::f32, device);
  const Tensor hidden = Tensor::full(Shape(), -std::numeric_limits<double>::infinity(), DType::f32, device);
  return near.where_cond(zero, hidden).unsqueeze(0).broadcast_to({spec.heads, tokens, step.longest});
}

// ALiBi in both directions: -slope · distance, [heads, tokens, positions].
Tensor distance_mask(const StepInputs& step, const Tensor& slopes) {
  const Device& device = step.positions.device();
  const int64_t tokens = step.positions.dim(0);
  const Tensor own = step.positions.to_dtype(DType::f32).reshape({tokens, 1});
  const Tensor others = Tensor::arange(0, static_cast<double>(step.longest), DType::f32, device).reshape({1, step.longest});
  return (own - others).abs().unsqueeze(0) * (slopes * -1.0).reshape({slopes.dim(0), 1, 1});
}

AttentionMixer::AttentionMixer(const AttentionSpec& spec, WeightReader& weights, const MixerPlace& place)
    : spec_(spec), cached_(place.cached), deterministic_(weights.deterministic()) {
  const int64_t hidden_size = place.hidden_size;
  const std::string prefix = fmt::format("blk.{}.", place.layer);
  const int64_t query_width = spec.heads * spec.head_dim;
  const int64_t projected = spec.gated ? 2 * query_width : query_width;
  const int64_t kv_width = spec.kv_heads * spec.head_dim;
  const bool fused = weights.has(prefix + "attn_qkv.weight");
  int64_t first = 0;
  const auto read = [&](const char* name, int64_t rows, ScaledMatrix& matrix, std::optional<Tensor>& bias) {
    if (fused) {
      const WeightReader::Rows part{first, rows, projected + 2 * kv_width};
      matrix = weights.matrix_rows(prefix + "attn_qkv", part, hidden_size);
      bias = weights.find_vector_part(prefix + "attn_qkv.bias", part);
      first += rows;
      return;
    }
    matrix = weights.matrix(prefix + name, rows, hidden_size);
    bias = weights.find_vector(prefix + name + ".bias", rows);
  };
  projected_ = spec.cache_of >= 0 ? 1 : spec.keys_are_values ? 2 : 3;
  read("attn_q", projected, query_, query_bias_);
  if (projected_ > 1) read("attn_k", kv_width, key_, key_bias_);
  if (projected_ > 2) read("attn_v", kv_width, value_, value_bias_);
  output_ = weights.matrix(prefix + "attn_output", hidden_size, query_width);
  if (spec.gate_matrix) gate_ = weights.matrix(prefix + "attn_gate", query_width, hidden_size);
  if (spec.output_bias) output_bias_ = weights.find_vector(prefix + "attn_output.bias", hidden_size);
  if (spec.head_norms == HeadNorms::each_head_rotated) {
    // A rotation changes no norm, so keys go into the cache without the weights, which queries take over: both stand in the same product.
    query_norm_ = key_norm_ = Tensor::ones({spec.head_dim}, DType::f32, weights.device());
    rotated_norm_ =
        weights.vector(prefix + "attn_q_norm.weight", spec.head_dim) * weights.vector(prefix + "attn_k_norm.weight", spec.head_dim);
  } else if (spec.head_norms == HeadNorms::bare) {
    query_norm_ = key_norm_ = Tensor::ones({spec.head_dim}, DType::f32, weights.device());
  } else if (spec.head_norms == HeadNorms::own) {
    query_norm_ = weights.vectors(prefix + "attn_q_norm.weight", spec.heads, spec.head_dim);
    key_norm_ = weights.vectors(prefix + "attn_k_norm.weight", spec.kv_heads, spec.head_dim);
    const Tensor ones = Tensor::ones({spec.head_dim}, DType::f32, weights.device());
    unit_weight_ = ones, unit_bias_ = ones * 0.0;
  } else if (spec.head_norms != HeadNorms::none) {
    const bool each = spec.head_norms == HeadNorms::each_head;
    query_norm_ = weights.vector(prefix + "attn_q_norm.weight", each ? spec.head_dim : query_width);
    if (projected_ > 1) key_norm_ = weights.vector(prefix + "attn_k_norm.weight", each ? spec.head_dim : kv_width);
  }
  if (spec.normalizes_values) unit_weight_ = Tensor::ones({spec.head_dim}, DType::f32, weights.device());
  if (spec.sinks) biases_.sinks = weights.vector(prefix + "attn_sinks.weight", spec.heads);
  if (spec.alibi != 0) biases_.slopes = alibi_slopes(spec.heads, spec.alibi, weights.device());
  if (spec.own_bias) own_bias_ = spec.own_bias->build(weights, place.layer);
  if (spec.sub_norm) sub_norm_.emplace(*spec.sub_norm, weights, prefix, query_width);
  scaled_ = query_.scale != 1 || key_.scale != 1 || value_.scale != 1;
}

Tensor AttentionMixer::by_head(const Tensor& x, int64_t heads, const std::optional<Tensor>& norm) const {
  const Shape shape = {x.dim(0), heads, spec_.head_dim};
  if (!norm) return x.reshape(shape);
  const RmsNormParams params{spec_.norm_epsilon, deterministic_};
  if (spec_.head_norms == HeadNorms::own) return layer_norm(x.reshape(shape), *unit_weight_, *unit_bias_, spec_.norm_epsilon) * *norm;
  if (spec_.head_norms == HeadNorms::all_heads) return rms_norm(x, *norm, params).reshape(shape);
  return rms_norm(x.reshape(shape), *norm, params);
}

std::vector<Tensor> AttentionMixer::project(const Tensor& x, LinearFusion fusion, const MixerContext& context) const {
  const std::array<const Tensor*, 3> projections{&query_.weight, &key_.weight, &value_.weight};
  if (!scaled_) fusion.biases = {pointer_to(query_bias_), pointer_to(key_bias_), pointer_to(value_bias_)};
  std::vector<Tensor> qkv = linear(x, std::span(projections).first(projected_), context.linear, fusion);
  const std::array<std::pair<const ScaledMatrix&, const std::optional<Tensor>&>, 3> parts{
      {{query_, query_bias_}, {key_, key_bias_}, {value_, value_bias_}}};
  for (size_t i = 0; i < projected_; ++i) {
    const auto& [matrix, bias] = parts[i];
    if (scaled_) qkv[i] = biased(matrix.scaled(std::move(qkv[i])), bias);
    qkv[i] = context.adapted(matrix, x, std::move(qkv[i]));
  }
  return qkv;
}

Tensor AttentionMixer::rotated(const Tensor& query, const std::vector<Tensor>& qkv, const MixerContext& context) const {
  const Tensor& angles = context.places.angles[static_cast<size_t>(spec_.rope + 1)];
  const StepInputs::Group& group = context.places.step.groups[static_cast<size_t>(context.pool.group_of(cached_))];
  if (projected_ == 1) return rope(query, angles.index_select(group.cache.positions, 0), context.rope_style);
  const Tensor key = clamped(by_head(qkv[1], spec_.kv_heads, key_norm_));
  Tensor value = clamped(by_head(qkv[projected_ - 1], spec_.kv_heads, std::nullopt));
  if (spec_.normalizes_values) value = rms_norm(value, *unit_weight_, RmsNormParams{spec_.norm_epsilon, deterministic_});
  return rope_into_cache(query, key, value, group.cache, angles, context.rope_style, context.pool.keys(cached_),
                         context.pool.values(cached_));
}

Tensor AttentionMixer::heads_of(const std::vector<Tensor>& qkv, std::optional<Tensor> gate, const MixerContext& context) const {
  Tensor query = qkv[0];
  if (spec_.gated) {
    const Tensor both = query.reshape({query.dim(0), spec_.heads, 2 * spec_.head_dim});
    query = both.narrow(2, 0, spec_.head_dim).contiguous();
    gate = both.narrow(2, spec_.head_dim, spec_.head_dim);
  }
  query = rotated(clamped(by_head(query, spec_.heads, query_norm_)), qkv, context);
  const StepInputs::Group& group = context.places.step.groups[static_cast<size_t>(context.pool.group_of(cached_))];
  const Tensor& keys = context.pool.keys(cached_);
  const Tensor& values = context.pool.values(cached_);
  if (rotated_norm_) query = query * *rotated_norm_;
  if (spec_.temperature.length != 0) query = query * temperatures(spec_.temperature, context.places.step.positions);
  // Into the next product.
  const DType dtype = gate || sub_norm_ ? DType::f32 : context.input_dtype(query.dim(0), {&output_});
  AttentionParams params{.scale = spec_.scale,
                         .softcap = spec_.softcap,
                         .block_size = context.pool.block_size(),
                         .longest = context.places.step.longest,
                         .precise = context.linear.precise,
                         .deterministic = context.linear.deterministic};
  params.causal = spec_.causal;
  const bool is_near = !spec_.causal && spec_.retention.kind == Retention::Kind::window;
  const bool is_symmetric = !spec_.causal && biases_.slopes;
  if (is_near || is_symmetric || spec_.relative_bias || spec_.after_source || own_bias_) {
    const StepInputs& step = context.places.step;
    AttentionBiases biases = biases_;
    const auto add = [&](const Tensor& mask) { biases.mask = biases.mask ? *biases.mask + mask : mask; };
    if (spec_.relative_bias || spec_.after_source) add(*step.score_bias);
    if (is_symmetric) add(distance_mask(step, *std::exchange(biases.slopes, std::nullopt)));
    if (is_near) add(near_mask(step, spec_));
    if (own_bias_) add(own_bias_->of(query, by_head(qkv[1], spec_.kv_heads, key_norm_), step));
    return finished(attention(query, keys, values, group.plan, params, biases, dtype), gate);
  }
  if (spec_.retention.kind == Retention::Kind::window) params.window = spec_.retention.size;
  if (spec_.retention.kind == Retention::Kind::chunk) params.chunk = spec_.retention.size;
  return finished(attention(query, keys, values, group.plan, params, biases_, dtype), gate);
}

Tensor AttentionMixer::finished(const Tensor& attended, const std::optional<Tensor>& gate) const {
  const Tensor scaled = gate ? attended * gate->sigmoid().reshape(attended.shape()) : attended;
  Tensor heads = scaled.reshape({attended.dim(0), spec_.heads * spec_.head_dim});
  return sub_norm_ ? (*sub_norm_)(heads) : heads;
}

Tensor AttentionMixer::forward(const Tensor& normed, const MixerContext& context) const {
  context.show_input({query_.name, key_.name, value_.name, gate_ ? std::string_view(gate_->name) : ""}, normed);
  const auto gate = gate_ ? std::optional(context.product(*gate_, normed)) : std::nullopt;
  const Tensor heads = heads_of(project(normed, {}, context), gate, context);
  context.show_input({output_.name}, heads);
  return biased(context.product(output_, heads), output_bias_);
}

std::optional<Tensor> AttentionMixer::forward_fused(const Tensor& x, const Norm& norm, const MixerContext& context) const {
  const std::array<const Tensor*, 3> first{&query_.weight, &key_.weight, &value_.weight};
  const std::array<const Tensor*, 1> last{&output_.weight};
  if (scaled_ || gate_ || output_.scale != 1 || !fuses_linear(x, std::span(first).first(projected_), context.linear) ||
      !fuses_linear(x, last, context.linear))
    return std::nullopt;
  const Tensor heads = heads_of(project(x, norm.fusion(), context), std::nullopt, context);
  return linear(heads, output_.weight, context.linear, {.biases = {pointer_to(output_bias_)}, .residual = &x});
}

}  // namespace

std::unique_ptr<Mixer> build_attention(const AttentionSpec& spec, WeightReader& weights, const MixerPlace& place) {
  return std::make_unique<AttentionMixer>(spec, weights, place);
}

}  // namespace wick
