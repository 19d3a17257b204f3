// Attention of a target to its source, whose keys and values are in the cache before those of the target.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wick/model/mixers/mixer.h"
#include "wick/tensor/ops/attention.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/ops/rope.h"

namespace wick {
namespace {

class CrossAttentionMixer final : public Mixer {
 public:
  CrossAttentionMixer(const CrossAttentionSpec& spec, WeightReader& weights, const MixerPlace& place) : spec_(spec), cached_(place.cached) {
    const std::string prefix = fmt::format("blk.{}.cross_attn_", place.layer);
    const int64_t width = spec.heads * spec.head_dim;
    const auto read = [&](const char* name, int64_t rows, int64_t columns) {
      return Projection{weights.matrix(prefix + name, rows, columns), weights.find_vector(prefix + name + ".bias", rows)};
    };
    query_ = read("q", width, place.hidden_size);
    key_ = read("k", width, place.hidden_size);
    value_ = read("v", width, place.hidden_size);
    output_ = read("output", place.hidden_size, width);
  }

  void take_source(const Tensor& encoded, const MixerContext& context) const override {
    context.show_input({key_.matrix.name, value_.matrix.name}, encoded);
    const Tensor key = by_head(key_, encoded, context), value = by_head(value_, encoded, context);
    // Nothing is turned: the table of angles has no pairs.
    (void)rope_into_cache(key, key, value, group_of(context).cache, context.places.angles.front(), context.rope_style,
                          context.pool.keys(cached_), context.pool.values(cached_));
  }

  [[nodiscard]] Tensor forward(const Tensor& normed, const MixerContext& context) const override {
    context.show_input({query_.matrix.name}, normed);
    const StepInputs& step = context.places.step;
    AttentionParams params{.scale = spec_.scale,
                           .block_size = context.pool.block_size(),
                           .longest = step.longest,
                           .precise = context.linear.precise,
                           .deterministic = context.linear.deterministic};
    params.causal = false;
    // As far as the source goes.
    const AttentionPlan& whole = group_of(context).plan;
    const AttentionPlan plan{whole.starts, step.target->source_lengths, whole.table};
    const Tensor attended =
        attention(by_head(query_, normed, context), context.pool.keys(cached_), context.pool.values(cached_), plan, params);
    const Tensor heads = attended.reshape({normed.dim(0), spec_.heads * spec_.head_dim});
    context.show_input({output_.matrix.name}, heads);
    return biased(context.product(output_.matrix, heads), output_.bias);
  }

  [[nodiscard]] std::vector<const ScaledMatrix*> matrices() const override {
    return {&query_.matrix, &key_.matrix, &value_.matrix, &output_.matrix};
  }

 private:
  struct Projection {
    ScaledMatrix matrix;
    std::optional<Tensor> bias;
  };
  [[nodiscard]] Tensor by_head(const Projection& projection, const Tensor& x, const MixerContext& context) const {
    return biased(context.product(projection.matrix, x), projection.bias).reshape({x.dim(0), spec_.heads, spec_.head_dim});
  }
  [[nodiscard]] const StepInputs::Group& group_of(const MixerContext& context) const {
    return context.places.step.groups[static_cast<size_t>(context.pool.group_of(cached_))];
  }

  CrossAttentionSpec spec_;
  int64_t cached_;
  Projection query_, key_, value_, output_;
};

}  // namespace

std::unique_ptr<Mixer> build_cross_attention(const CrossAttentionSpec& spec, WeightReader& weights, const MixerPlace& place) {
  return std::make_unique<CrossAttentionMixer>(spec, weights, place);
}

}  // namespace wick
