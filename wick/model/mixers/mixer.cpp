#include "wick/model/mixers/mixer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "wick/tensor/ops/normalize.h"

namespace wick {

void MixerContext::show_input(std::initializer_list<std::string_view> weights, const WeightInput& input) const {
  if (!observe) return;
  for (const std::string_view* weight = weights.begin(); weight != weights.end(); ++weight) {
    if (weight->empty() || std::find(weights.begin(), weight, *weight) != weight) continue;
    observe({*weight, input.values, input.matrices, input.chosen});
  }
}

Tensor MixerContext::product(const ScaledMatrix& matrix, const Tensor& x) const {
  return adapted(matrix, x, matrix.scaled(wick::linear(x, matrix.weight, linear)));
}

Tensor MixerContext::adapted(const ScaledMatrix& matrix, const Tensor& x, Tensor product) const {
  return adapts(matrix) ? product + adapter_product(x, *matrix.adapters, *places.step.adapters, linear) : std::move(product);
}

DType MixerContext::input_dtype(int64_t rows, std::initializer_list<const ScaledMatrix*> matrices) const {
  std::vector<const Tensor*> weights;
  for (const ScaledMatrix* matrix : matrices) {
    if (matrix == nullptr) continue;
    if (observe || adapts(*matrix)) return DType::f32;
    weights.push_back(&matrix->weight);
  }
  return linear_input_dtype(rows, weights, linear);
}

Norm::Norm(const NormSpec& spec, WeightReader& weights, const std::string& prefix, int64_t length)
    : kind_(spec.kind),
      epsilon_(spec.epsilon),
      deterministic_(weights.deterministic()),
      weight_(spec.bare ? Tensor::ones({length}, DType::f32, weights.device()) : weights.vector(prefix + spec.name + ".weight", length)) {
  if (!spec.bare) bias_ = weights.find_vector(prefix + spec.name + ".bias", length);
  if (kind_ == NormKind::layer && !bias_) bias_ = Tensor::zeros({length}, DType::f32, weights.device());
}

Tensor Norm::operator()(const Tensor& x, DType dtype) const {
  if (kind_ == NormKind::layer) return layer_norm(x, weight_, *bias_, epsilon_);
  return biased(rms_norm(x, weight_, RmsNormParams{epsilon_, deterministic_}, bias_ ? DType::f32 : dtype), bias_);
}

Tensor Norm::add(Tensor& x, const Tensor& y, DType dtype) const {
  if (kind_ == NormKind::layer) {
    x = x + y;
    return (*this)(x);
  }
  SumAndNorm result = add_rms_norm(x, y, weight_, RmsNormParams{epsilon_, deterministic_}, bias_ ? DType::f32 : dtype);
  x = std::move(result.sum);
  return biased(result.norm, bias_);
}

std::optional<KvLayer> cached_layer(const PartSpec& part, DType dtype) {
  if (const auto* attention = std::get_if<AttentionSpec>(&part.mixer)) {
    if (attention->cache_of >= 0) return std::nullopt;
    return KvLayer{.kv_heads = attention->kv_heads,
                   .key_dim = attention->head_dim,
                   .value_dim = attention->head_dim,
                   .dtype = dtype,
                   .retention = attention->causal ? attention->retention : Retention{}};
  }
  if (const auto* attention = std::get_if<LatentAttentionSpec>(&part.mixer)) {
    return KvLayer{.kv_heads = 1, .key_dim = attention->rope_dim + attention->latent_dim, .value_dim = 0, .dtype = dtype};
  }
  return std::nullopt;
}

std::optional<int64_t> kept_state(const PartSpec& part, int64_t hidden_size) {
  if (const auto* convolution = std::get_if<ShortConvolutionSpec>(&part.mixer)) {
    return (convolution->kernel - 1) * hidden_size;
  }
  if (const auto* space = std::get_if<StateSpaceSpec>(&part.mixer)) {
    return (space->kernel - 1) * space->width() + space->inner() * space->state_size;
  }
  if (const auto* scan = std::get_if<SelectiveScanSpec>(&part.mixer)) {
    return (scan->kernel - 1 + scan->state_size) * scan->inner;
  }
  if (const auto* rule = std::get_if<DeltaRuleSpec>(&part.mixer)) {
    return (rule->kernel - 1) * rule->width() + rule->inner() * rule->key_dim;
  }
  if (const auto* mix = std::get_if<TimeMixSpec>(&part.mixer)) {
    return hidden_size + mix->heads * mix->head_dim * mix->head_dim;
  }
  if (const auto* unit = std::get_if<LinearRecurrentUnitSpec>(&part.mixer)) {
    return unit->kernel * unit->inner;
  }
  if (const auto* lightning = std::get_if<LightningAttentionSpec>(&part.mixer)) {
    return lightning->heads * lightning->head_dim * lightning->head_dim;
  }
  if (std::holds_alternative<ChannelMixSpec>(part.mixer)) return hidden_size;
  return std::nullopt;
}

std::unique_ptr<Mixer> build_mixer(const PartSpec& part, WeightReader& weights, const MixerPlace& place) {
  return std::visit(
      [&]<class Spec>(const Spec& spec) -> std::unique_ptr<Mixer> {
        if constexpr (std::is_same_v<Spec, AttentionSpec>) {
          return build_attention(spec, weights, place);
        } else if constexpr (std::is_same_v<Spec, CrossAttentionSpec>) {
          return build_cross_attention(spec, weights, place);
        } else if constexpr (std::is_same_v<Spec, LatentAttentionSpec>) {
          return build_latent_attention(spec, weights, place);
        } else if constexpr (std::is_same_v<Spec, FeedForwardSpec>) {
          return build_feed_forward(spec, weights, place);
        } else if constexpr (std::is_same_v<Spec, ExpertsSpec>) {
          return build_experts(spec, weights, place);
        } else if constexpr (std::is_same_v<Spec, ShortConvolutionSpec>) {
          return build_short_convolution(spec, weights, place);
        } else if constexpr (std::is_same_v<Spec, StateSpaceSpec>) {
          return build_state_space(spec, weights, place);
        } else if constexpr (std::is_same_v<Spec, SelectiveScanSpec>) {
          return build_selective_scan(spec, weights, place);
        } else if constexpr (std::is_same_v<Spec, LayerInputSpec>) {
          return build_layer_input(spec, weights, place);
        } else if constexpr (std::is_same_v<Spec, DeltaRuleSpec>) {
          return build_delta_rule(spec, weights, place);
        } else if constexpr (std::is_same_v<Spec, TimeMixSpec>) {
          return build_time_mix(spec, weights, place);
        } else if constexpr (std::is_same_v<Spec, ChannelMixSpec>) {
          return build_channel_mix(spec, weights, place);
        } else if constexpr (std::is_same_v<Spec, LinearRecurrentUnitSpec>) {
          return build_linear_recurrent_unit(spec, weights, place);
        } else if constexpr (std::is_same_v<Spec, LightningAttentionSpec>) {
          return build_lightning_attention(spec, weights, place);
        } else {
          return spec.build(weights, place.layer);
        }
      },
      part.mixer);
}

}  // namespace wick
