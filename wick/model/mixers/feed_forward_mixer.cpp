// The feed-forward part of a layer, gated (Shazeer 2020) or not.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "wick/model/mixers/mixer.h"
#include "wick/tensor/ops/linear.h"

namespace wick {
namespace {

class FeedForwardMixer final : public Mixer {
 public:
  FeedForwardMixer(const FeedForwardSpec& spec, WeightReader& weights, const MixerPlace& place);

  [[nodiscard]] Tensor forward(const Tensor& normed, const MixerContext& context) const override;
  [[nodiscard]] DType input_dtype(int64_t rows, const MixerContext& context) const override {
    return context.input_dtype(rows, {&up_, spec_.gated ? &gate_ : nullptr, scaled_by_ ? &*scaled_by_ : nullptr});
  }
  [[nodiscard]] std::optional<Tensor> forward_fused(const Tensor& x, const Norm& norm, const MixerContext& context) const override;
  [[nodiscard]] std::vector<const ScaledMatrix*> matrices() const override {
    if (!spec_.gated) return {&up_, &down_};
    return {&gate_, &up_, &down_};
  }
  [[nodiscard]] std::vector<ScaledMatrix*> adaptable() override {
    if (!spec_.gated) return {&up_, &down_};
    return {&gate_, &up_, &down_};
  }

 private:
  // What ffn_down is multiplied by; `fusion` may name a norm.
  [[nodiscard]] Tensor inner(const Tensor& x, LinearFusion fusion, const MixerContext& context) const;

  FeedForwardSpec spec_;
  nn::Activation activation_;
  std::optional<GateKind> gate_kind_;  // of gated_linear, where that computes all but up's scale
  ScaledMatrix gate_, up_, down_;
  std::optional<Tensor> gate_bias_, up_bias_, down_bias_;
  std::optional<ScaledMatrix> scaled_by_;
  std::optional<Norm> sub_norm_;
  std::optional<Tensor> divisors_;  // of what ffn_down is multiplied by
};

FeedForwardMixer::FeedForwardMixer(const FeedForwardSpec& spec, WeightReader& weights, const MixerPlace& place)
    : spec_(spec), activation_(spec.activation) {
  const int64_t hidden_size = place.hidden_size;
  const std::string prefix = fmt::format("blk.{}.", place.layer);
  const std::string gate_name = prefix + "ffn_gate" + spec.suffix, up_name = prefix + "ffn_up" + spec.suffix,
                    down_name = prefix + "ffn_down" + spec.suffix;
  const int64_t width = spec.width;
  if (spec.gated && !weights.has(gate_name + ".weight") && weights.rows_of(up_name + ".weight") == 2 * width) {
    const WeightReader::Rows gate{0, width, 2 * width};
    const WeightReader::Rows up{width, width, 2 * width};
    gate_ = weights.matrix_rows(up_name, gate, hidden_size);
    up_ = weights.matrix_rows(up_name, up, hidden_size);
    gate_bias_ = weights.find_vector_part(up_name + ".bias", gate);
    up_bias_ = weights.find_vector_part(up_name + ".bias", up);
  } else {
    if (spec.gated) {
      gate_ = weights.matrix(gate_name, width, hidden_size);
      gate_bias_ = weights.find_vector(gate_name + ".bias", width);
    }
    up_ = weights.matrix(up_name, width, hidden_size);
    up_bias_ = weights.find_vector(up_name + ".bias", width);
  }
  down_ = weights.matrix(down_name, hidden_size, width);
  down_bias_ = weights.find_vector(down_name + ".bias", hidden_size);
  // llama.cpp's scales are of products with their biases, but for NVFP4.
  const auto scale_bias = [](const ScaledMatrix& matrix, std::optional<Tensor>& bias) {
    if (bias && matrix.scale != 1 && matrix.weight.dtype() != DType::nvfp4) bias = *bias * matrix.scale;
  };
  scale_bias(gate_, gate_bias_), scale_bias(up_, up_bias_), scale_bias(down_, down_bias_);
  if (!spec.scaled_by.empty()) scaled_by_ = weights.matrix(prefix + spec.scaled_by, 1, hidden_size);
  if (spec.sub_norm) sub_norm_.emplace(*spec.sub_norm, weights, prefix, width);
  if (spec.suffix.empty()) divisors_ = weights.find_vector(prefix + "ffn.act.scales", width);
  const bool one_call = spec.gated && gate_.weight.dtype() == up_.weight.dtype() && gate_.scale == 1 && (up_.scale == 1 || !up_bias_);
  if (one_call && !spec.cutoff) gate_kind_ = gate_kind_of(spec.activation);
}

Tensor FeedForwardMixer::inner(const Tensor& x, LinearFusion fusion, const MixerContext& context) const {
  const LinearParams& params = context.linear;
  const auto finished = [&](const ScaledMatrix& matrix, const Tensor& product, const std::optional<Tensor>& bias) {
    return biased(context.adapted(matrix, x, matrix.scaled(product)), bias);
  };
  if (!spec_.gated) return activation_.forward(finished(up_, linear(x, up_.weight, params, fusion), up_bias_));
  if (gate_kind_ && !context.adapts(gate_) && !context.adapts(up_)) {
    LinearParams gated = params;
    gated.gate = *gate_kind_;
    fusion.biases = {pointer_to(gate_bias_), pointer_to(up_bias_)};
    const bool directly = up_.scale == 1 && !sub_norm_ && !divisors_;  // into the next product
    const DType dtype = directly ? context.input_dtype(x.dim(0), {&down_}) : DType::f32;
    return up_.scaled(gated_linear(x, gate_.weight, up_.weight, gated, fusion, dtype));
  }
  const std::array<const Tensor*, 2> projections{&gate_.weight, &up_.weight};
  const std::vector<Tensor> products = linear(x, projections, params, fusion);
  Tensor gate = finished(gate_, products[0], gate_bias_);
  if (spec_.cutoff) {
    const Tensor mean = gate.mean_keepdim(-1), centred = gate - mean;
    gate = (centred - centred.sqr().mean_keepdim(-1).sqrt() * *spec_.cutoff).relu();
  }
  return activation_.forward(gate) * finished(up_, products[1], up_bias_);
}

Tensor FeedForwardMixer::forward(const Tensor& normed, const MixerContext& context) const {
  context.show_input({gate_.name, up_.name, scaled_by_ ? std::string_view(scaled_by_->name) : ""}, normed);
  Tensor x = inner(normed, {}, context);
  if (sub_norm_) x = (*sub_norm_)(x);
  if (divisors_) x = x / *divisors_;
  context.show_input({down_.name}, x);
  Tensor result = biased(context.product(down_, x), down_bias_);
  if (!scaled_by_) return result;
  return result * scaled_by_->scaled(linear(normed, scaled_by_->weight, context.linear)).sigmoid();
}

std::optional<Tensor> FeedForwardMixer::forward_fused(const Tensor& x, const Norm& norm, const MixerContext& context) const {
  const std::array<const Tensor*, 2> first{&up_.weight, &gate_.weight};
  const std::array<const Tensor*, 1> last{&down_.weight};
  const bool fuses = fuses_linear(x, std::span(first).first(spec_.gated ? 2 : 1), context.linear) && fuses_linear(x, last, context.linear);
  if (!fuses || down_.scale != 1 || scaled_by_) return std::nullopt;
  Tensor hidden = inner(x, norm.fusion(), context);
  if (sub_norm_) hidden = (*sub_norm_)(hidden);
  if (divisors_) hidden = hidden / *divisors_;
  return linear(hidden, down_.weight, context.linear, {.biases = {pointer_to(down_bias_)}, .residual = &x});
}

}  // namespace

std::unique_ptr<Mixer> build_feed_forward(const FeedForwardSpec& spec, WeightReader& weights, const MixerPlace& place) {
  return std::make_unique<FeedForwardMixer>(spec, weights, place);
}

}  // namespace wick
