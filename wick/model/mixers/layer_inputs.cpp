#include "wick/model/mixers/layer_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "wick/nn/activation.h"
#include "wick/tensor/ops/embedding.h"

namespace wick {
namespace {

class LayerInputMixer final : public Mixer {
 public:
  LayerInputMixer(const LayerInputSpec& spec, WeightReader& weights, const MixerPlace& place, const std::string& prefix)
      : layer_(place.layer),
        activation_(spec.activation),
        gate_(weights.matrix(prefix + "inp_gate", spec.width, place.hidden_size)),
        projection_(weights.matrix(prefix + "proj", place.hidden_size, spec.width)) {}

  [[nodiscard]] Tensor forward(const Tensor& normed, const MixerContext& context) const override {
    const auto product = [&](const ScaledMatrix& matrix, const Tensor& x) {
      context.show_input({matrix.name}, x);
      return context.product(matrix, x);
    };
    const Tensor gate = activation_.forward(product(gate_, normed));
    return product(projection_, gate * context.places.layer_inputs.narrow(1, layer_, 1).reshape(gate.shape()));
  }
  [[nodiscard]] std::vector<const ScaledMatrix*> matrices() const override { return {&gate_, &projection_}; }
  [[nodiscard]] std::vector<ScaledMatrix*> adaptable() override { return {&gate_, &projection_}; }

 private:
  int64_t layer_;
  nn::Activation activation_;
  ScaledMatrix gate_, projection_;
};

}  // namespace

LayerRows::LayerRows(const LayerRowsSpec& spec, int64_t layers, WeightReader& weights, int64_t hidden_size)
    : layers_(layers),
      width_(spec.width),
      hidden_size_(hidden_size),
      tokens_(std::max<int64_t>(weights.rows_of("per_layer_token_embd.weight"), 1)),
      lacks_tokens_(tokens_ < weights.rows_of("token_embd.weight")),
      table_(weights.table("per_layer_token_embd", tokens_, layers * spec.width)),
      projection_(weights.matrix("per_layer_model_proj", layers * spec.width, hidden_size)),
      norm_(NormSpec{.name = "per_layer_proj_norm", .epsilon = spec.norm_epsilon}, weights, "", spec.width) {}

Tensor LayerRows::of(const Tensor& embedded, const Tensor& tokens, const LinearParams& linear_params) const {
  const int64_t rows = embedded.dim(0);
  const Tensor product = projection_.scaled(linear(embedded, projection_.weight, linear_params));
  const Tensor projected = product * (1 / std::sqrt(static_cast<double>(hidden_size_)));
  // Tokens of other media, which a table may lack, have the first row.
  const Tensor known = lacks_tokens_ ? tokens.lt(static_cast<double>(tokens_)).where_cond(tokens, tokens.zeros_like()) : tokens;
  const Tensor looked_up = table_.scaled(embedding(table_.weight, known)).reshape({rows, layers_, width_});
  const Tensor sum = norm_(projected.reshape({rows, layers_, width_})) + looked_up * std::sqrt(static_cast<double>(width_));
  return sum * std::sqrt(0.5);
}

std::unique_ptr<Mixer> build_layer_input(const LayerInputSpec& spec, WeightReader& weights, const MixerPlace& place) {
  return std::make_unique<LayerInputMixer>(spec, weights, place, fmt::format("blk.{}.", place.layer));
}

}  // namespace wick
