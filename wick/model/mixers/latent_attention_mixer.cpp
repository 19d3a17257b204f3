// Latent attention over rows that all heads share: no keys or values of heads are made.
#include <fmt/format.h>

#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "wick/model/mixers/mixer.h"
#include "wick/tensor/ops/normalize.h"

namespace wick {
namespace {

class LatentAttentionMixer final : public Mixer {
 public:
  LatentAttentionMixer(const LatentAttentionSpec& spec, WeightReader& weights, const MixerPlace& place);

  [[nodiscard]] Tensor forward(const Tensor& normed, const MixerContext& context) const override;
  [[nodiscard]] std::vector<const ScaledMatrix*> matrices() const override {
    if (spec_.query_rank == 0) return {&query_, &rows_, &keys_, &values_, &output_};
    return {&query_, &rows_, &query_up_, &keys_, &values_, &output_};
  }

 private:
  void read_heads(WeightReader& weights, const std::string& prefix);
  [[nodiscard]] Tensor queries(const Tensor& normed, const MixerContext& context) const;
  // One product a head: x [tokens, heads, columns] with a matrix [heads, rows, columns].
  [[nodiscard]] Tensor by_head(const Tensor& x, const ScaledMatrix& matrix, const MixerContext& context) const {
    const Tensor heads = heads_.broadcast_to({x.dim(0), spec_.heads}).contiguous();
    context.show_input({matrix.name}, x, spec_.heads, heads);
    return matrix.scaled(linear_experts(x, matrix.weight, heads, context.linear));
  }

  LatentAttentionSpec spec_;
  int64_t cached_;
  bool deterministic_;
  ScaledMatrix query_, query_up_, rows_, output_;  // query_: attn_q or attn_q_a
  ScaledMatrix keys_, values_;                     // of each head
  std::string joint_name_;                         // of the weight that holds both, where it is one
  // Of an indexer's weights, where there is one: nothing is computed with them, but what they would multiply is known.
  std::string index_query_name_, index_key_name_, index_weight_name_;
  std::optional<Tensor> query_bias_, rows_bias_, output_bias_;
  std::optional<Tensor> query_norm_;
  Tensor row_norm_;
  Tensor heads_;  // i32 [1, heads]: their numbers
};

LatentAttentionMixer::LatentAttentionMixer(const LatentAttentionSpec& spec, WeightReader& weights, const MixerPlace& place)
    : spec_(spec), cached_(place.cached), deterministic_(weights.deterministic()) {
  const std::string prefix = fmt::format("blk.{}.", place.layer);
  const int64_t width = spec.heads * (spec.key_dim + spec.rope_dim);
  if (spec.query_rank > 0) {
    query_ = weights.matrix(prefix + "attn_q_a", spec.query_rank, place.hidden_size);
    query_bias_ = weights.find_vector(prefix + "attn_q_a.bias", spec.query_rank);
    query_norm_ = weights.vector(prefix + "attn_q_a_norm.weight", spec.query_rank);
    query_up_ = weights.matrix(prefix + "attn_q_b", width, spec.query_rank);
  } else {
    query_ = weights.matrix(prefix + "attn_q", width, place.hidden_size);
  }
  rows_ = weights.matrix(prefix + "attn_kv_a_mqa", spec.latent_dim + spec.rope_dim, place.hidden_size);
  rows_bias_ = weights.find_vector(prefix + "attn_kv_a_mqa.bias", spec.latent_dim + spec.rope_dim);
  row_norm_ = weights.vector(prefix + "attn_kv_a_norm.weight", spec.latent_dim);
  read_heads(weights, prefix);
  output_ = weights.matrix(prefix + "attn_output", place.hidden_size, spec.heads * spec.value_dim);
  output_bias_ = weights.find_vector(prefix + "attn_output.bias", place.hidden_size);
  if (weights.has(prefix + "indexer.proj.weight")) {
    index_query_name_ = prefix + "indexer.attn_q_b.weight";
    index_key_name_ = prefix + "indexer.attn_k.weight";
    index_weight_name_ = prefix + "indexer.proj.weight";
  }
  std::vector<int32_t> numbers(static_cast<size_t>(spec.heads));
  std::iota(numbers.begin(), numbers.end(), 0);
  heads_ = Tensor::from_vector(numbers, {1, spec.heads}, weights.device());
}

void LatentAttentionMixer::read_heads(WeightReader& weights, const std::string& prefix) {
  if (weights.has(prefix + "attn_k_b.weight")) {
    keys_ = weights.experts(prefix + "attn_k_b", spec_.heads, spec_.latent_dim, spec_.key_dim);
    values_ = weights.experts(prefix + "attn_v_b", spec_.heads, spec_.value_dim, spec_.latent_dim);
    return;
  }
  // Both as one: keys are multiplied from the other side, so that they are turned, and no longer quantized.
  const int64_t both = spec_.key_dim + spec_.value_dim;
  const ScaledMatrix stored = weights.matrix(prefix + "attn_kv_b", spec_.heads * both, spec_.latent_dim);
  const DType dtype = is_float(stored.weight.dtype()) ? stored.weight.dtype() : DType::f16;
  const Tensor matrices = stored.weight.to_dtype(DType::f32).reshape({spec_.heads, both, spec_.latent_dim});
  keys_.weight = matrices.narrow(1, 0, spec_.key_dim).transpose(1, 2).contiguous().to_dtype(dtype);
  values_.weight = matrices.narrow(1, spec_.key_dim, spec_.value_dim).contiguous().to_dtype(dtype);
  keys_.scale = values_.scale = stored.scale;
  joint_name_ = stored.name;
}

Tensor LatentAttentionMixer::queries(const Tensor& normed, const MixerContext& context) const {
  const Tensor first = biased(query_.scaled(linear(normed, query_.weight, context.linear)), query_bias_);
  const Shape by_heads{normed.dim(0), spec_.heads, spec_.key_dim + spec_.rope_dim};
  if (!query_norm_) return first.reshape(by_heads);
  const Tensor narrow = rms_norm(first, *query_norm_, RmsNormParams{spec_.norm_epsilon, deterministic_});
  context.show_input({query_up_.name, index_query_name_}, narrow);
  return query_up_.scaled(linear(narrow, query_up_.weight, context.linear)).reshape(by_heads);
}

Tensor LatentAttentionMixer::forward(const Tensor& normed, const MixerContext& context) const {
  context.show_input({query_.name, rows_.name, index_key_name_, index_weight_name_}, normed);
  const int64_t tokens = normed.dim(0);
  const Tensor both = queries(normed, context);
  const Tensor latent_query = by_head(both.narrow(2, 0, spec_.key_dim).contiguous(), keys_, context);
  // What is rotated comes first, as rope wants it.
  const Tensor query = Tensor::cat({both.narrow(2, spec_.key_dim, spec_.rope_dim), latent_query}, 2);
  const Tensor rows = biased(rows_.scaled(linear(normed, rows_.weight, context.linear)), rows_bias_);
  const Tensor latent =
      rms_norm(rows.narrow(1, 0, spec_.latent_dim).contiguous(), row_norm_, RmsNormParams{spec_.norm_epsilon, deterministic_});
  context.show_input({joint_name_}, latent);
  const int64_t width = spec_.rope_dim + spec_.latent_dim;
  const Tensor key = Tensor::cat({rows.narrow(1, spec_.latent_dim, spec_.rope_dim), latent}, 1).reshape({tokens, 1, width});
  const StepInputs::Group& group = context.places.step.groups[static_cast<size_t>(context.pool.group_of(cached_))];
  const Tensor& keys = context.pool.keys(cached_);
  const Tensor nothing = Tensor::empty({tokens, 1, 0}, DType::f32, normed.device());
  const Tensor turned = rope_into_cache(query, key, nothing, group.cache, context.places.angles[spec_.rotates ? 1 : 0], context.rope_style,
                                        keys, context.pool.values(cached_));
  const AttentionParams params{.scale = spec_.scale,
                               .block_size = context.pool.block_size(),
                               .longest = context.places.step.longest,
                               .precise = context.linear.precise,
                               .deterministic = context.linear.deterministic};
  const Tensor mixed = attention(turned, keys, keys.narrow(2, spec_.rope_dim, spec_.latent_dim), group.plan, params);
  const Tensor heads = by_head(mixed, values_, context).reshape({tokens, spec_.heads * spec_.value_dim});
  context.show_input({output_.name}, heads);
  return biased(output_.scaled(linear(heads, output_.weight, context.linear)), output_bias_);
}

}  // namespace

std::unique_ptr<Mixer> build_latent_attention(const LatentAttentionSpec& spec, WeightReader& weights, const MixerPlace& place) {
  return std::make_unique<LatentAttentionMixer>(spec, weights, place);
}

}  // namespace wick
