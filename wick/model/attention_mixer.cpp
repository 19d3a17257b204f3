// Grouped-query attention over the paged cache.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "wick/model/mixer.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/ops/normalize.h"

namespace wick {
namespace {

class AttentionMixer final : public Mixer {
 public:
  AttentionMixer(const AttentionSpec& spec, WeightReader& weights, const MixerPlace& place);

  [[nodiscard]] Tensor forward(const Tensor& normed, const MixerContext& context) const override;
  [[nodiscard]] std::vector<MatrixGroup> matrices() override { return {{&query_, &key_, &value_}, {&output_, nullptr, nullptr}}; }

 private:
  [[nodiscard]] Tensor projected(const Tensor& product, const ScaledMatrix& matrix, const std::optional<Tensor>& bias, int64_t heads,
                                 const std::optional<Tensor>& norm) const;

  AttentionSpec spec_;
  int64_t layer_, cached_;
  bool deterministic_;
  ScaledMatrix query_, key_, value_, output_;
  std::optional<Tensor> query_bias_, key_bias_, value_bias_, output_bias_;
  std::optional<Tensor> query_norm_, key_norm_;
  std::optional<Norm> sub_norm_;
};

AttentionMixer::AttentionMixer(const AttentionSpec& spec, WeightReader& weights, const MixerPlace& place)
    : spec_(spec), layer_(place.layer), cached_(place.cached), deterministic_(weights.deterministic()) {
  const int64_t hidden_size = place.hidden_size;
  const std::string prefix = fmt::format("blk.{}.", place.layer);
  const int64_t query_width = spec.heads * spec.head_dim;
  const int64_t kv_width = spec.kv_heads * spec.head_dim;
  const bool fused = weights.has(prefix + "attn_qkv.weight");
  int64_t first = 0;
  const auto read = [&](const char* name, int64_t rows, ScaledMatrix& matrix, std::optional<Tensor>& bias) {
    if (fused) {
      const WeightReader::Rows part{first, rows, query_width + 2 * kv_width};
      matrix = weights.matrix_rows(prefix + "attn_qkv", part, hidden_size);
      bias = weights.find_vector_part(prefix + "attn_qkv.bias", part);
      first += rows;
      return;
    }
    matrix = weights.matrix(prefix + name, rows, hidden_size);
    bias = weights.find_vector(prefix + name + ".bias", rows);
  };
  read("attn_q", query_width, query_, query_bias_);
  read("attn_k", kv_width, key_, key_bias_);
  read("attn_v", kv_width, value_, value_bias_);
  output_ = weights.matrix(prefix + "attn_output", hidden_size, query_width);
  output_bias_ = weights.find_vector(prefix + "attn_output.bias", hidden_size);
  if (spec.head_norms != HeadNorms::none) {
    const bool each = spec.head_norms == HeadNorms::each_head;
    query_norm_ = weights.vector(prefix + "attn_q_norm.weight", each ? spec.head_dim : query_width);
    key_norm_ = weights.vector(prefix + "attn_k_norm.weight", each ? spec.head_dim : kv_width);
  }
  if (spec.sub_norm) sub_norm_.emplace(*spec.sub_norm, weights, prefix, query_width);
}

Tensor AttentionMixer::projected(const Tensor& product, const ScaledMatrix& matrix, const std::optional<Tensor>& bias, int64_t heads,
                                 const std::optional<Tensor>& norm) const {
  Tensor x = biased(matrix.scaled(product), bias);
  const Shape by_head = {x.dim(0), heads, spec_.head_dim};
  if (!norm) return x.reshape(by_head);
  const RmsNormParams params{spec_.norm_epsilon, deterministic_};
  if (spec_.head_norms == HeadNorms::all_heads) return rms_norm(x, *norm, params).reshape(by_head);
  return rms_norm(x.reshape(by_head), *norm, params);
}

Tensor AttentionMixer::forward(const Tensor& normed, const MixerContext& context) const {
  context.show_input(layer_, {"attn_q", "attn_k", "attn_v"}, normed);
  const std::array<const Tensor*, 3> projections{&query_.weight, &key_.weight, &value_.weight};
  const std::vector<Tensor> qkv = linear(normed, projections, context.linear);
  Tensor query = projected(qkv[0], query_, query_bias_, spec_.heads, query_norm_);
  const Tensor key = projected(qkv[1], key_, key_bias_, spec_.kv_heads, key_norm_);
  const Tensor value = projected(qkv[2], value_, value_bias_, spec_.kv_heads, std::nullopt);
  const StepInputs::Group& group = context.places.step.groups[static_cast<size_t>(context.pool.group_of(cached_))];
  const Tensor& keys = context.pool.keys(cached_);
  const Tensor& values = context.pool.values(cached_);
  const Tensor& angles = context.places.angles[static_cast<size_t>(spec_.rope + 1)];
  query = rope_into_cache(query, key, value, group.cache, angles, context.rope_style, keys, values);
  AttentionParams params{.scale = spec_.scale,
                         .softcap = spec_.softcap,
                         .block_size = context.pool.block_size(),
                         .longest = context.places.step.longest,
                         .precise = context.linear.precise,
                         .deterministic = context.linear.deterministic};
  if (spec_.retention.kind == Retention::Kind::window) params.window = spec_.retention.size;
  if (spec_.retention.kind == Retention::Kind::chunk) params.chunk = spec_.retention.size;
  Tensor heads = attention(query, keys, values, group.plan, params).reshape({normed.dim(0), spec_.heads * spec_.head_dim});
  if (sub_norm_) heads = (*sub_norm_)(heads);
  context.show_input(layer_, {"attn_output"}, heads);
  return biased(output_.scaled(linear(heads, output_.weight, context.linear)), output_bias_);
}

}  // namespace

std::unique_ptr<Mixer> build_attention(const AttentionSpec& spec, WeightReader& weights, const MixerPlace& place) {
  return std::make_unique<AttentionMixer>(spec, weights, place);
}

}  // namespace wick
