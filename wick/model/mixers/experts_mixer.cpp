// A mixture of experts (Shazeer et al. 2017): a router chooses some of many feed-forward parts for each token. Nothing here reads a number
// on the host, so that a step can be recorded.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "wick/model/mixers/mixer.h"
#include "wick/nn/activation.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/ops/normalize.h"

namespace wick {
namespace {

// How far below the largest score, in proportion, Phi 3.5 MoE's router still looks: twice its jitter in training.
constexpr double kSparseMixerShare = 0.02;
// The least sum of weights that is divided by.
constexpr double kMinSum = 1e-20;

// The experts of each token, [tokens, used], and their weights.
struct Choice {
  Tensor ids, weights;
};

// `chosen` at the places that `ids` name in each row, and `other` elsewhere; of the shape of `values`.
Tensor where_chosen(const Tensor& values, const Tensor& ids, double chosen, double other) {
  const Tensor source = Tensor::full(ids.shape(), chosen, DType::f32, values.device());
  return Tensor::full(values.shape(), other, DType::f32, values.device()).scatter(ids, source, -1);
}

constexpr double kNever = -std::numeric_limits<double>::infinity();

class ExpertsMixer final : public Mixer {
 public:
  ExpertsMixer(const ExpertsSpec& spec, WeightReader& weights, const MixerPlace& place);

  [[nodiscard]] Tensor forward(const Tensor& read, const MixerContext& context) const override;
  [[nodiscard]] std::vector<const ScaledMatrix*> matrices() const override {
    if (joined_ || !spec_.gated) return {&up_, &down_};
    return {&gate_, &up_, &down_};
  }

 private:
  [[nodiscard]] Choice choose(const Tensor& scores) const;
  [[nodiscard]] Choice choose_sparsely(const Tensor& scores) const;
  [[nodiscard]] Tensor product(const Tensor& x, const ScaledMatrix& matrix, const std::optional<Tensor>& bias, const Tensor& ids,
                               const MixerContext& context) const;
  // activation(gate(x)) · up(x), or activation(up(x)).
  [[nodiscard]] Tensor inner(const Tensor& x, const Tensor& ids, const MixerContext& context) const;
  // For the choice: scores outside of the best groups never win.
  [[nodiscard]] Tensor within_groups(const Tensor& scores) const;

  ExpertsSpec spec_;
  bool joined_;  // up_ holds each expert's gate before its up
  ScaledMatrix router_, gate_, up_, down_;
  std::optional<ScaledMatrix> latent_down_, latent_up_;
  std::optional<Tensor> router_scale_, input_scale_;  // [hidden_size] of each
  std::optional<Tensor> router_bias_, choice_bias_, gate_bias_, up_bias_, down_bias_;
  std::optional<Tensor> sum_bias_;  // of what all experts of a token give together
};

ExpertsMixer::ExpertsMixer(const ExpertsSpec& spec, WeightReader& weights, const MixerPlace& place)
    : spec_(spec), joined_(weights.has(fmt::format("blk.{}.ffn_gate_up_exps.weight", place.layer))) {
  const std::string prefix = fmt::format("blk.{}.", place.layer);
  const int64_t hidden_size = place.hidden_size;
  if (spec.scales_inputs) {
    router_ = weights.unscaled_matrix(prefix + "ffn_gate_inp", spec.count, hidden_size);
    router_scale_ = weights.vector(prefix + "ffn_gate_inp.scale", hidden_size) * (1 / std::sqrt(static_cast<double>(hidden_size)));
    input_scale_ = weights.vector(prefix + "pre_ffw_norm_2.weight", hidden_size);
  } else {
    router_ = weights.matrix(prefix + "ffn_gate_inp", spec.count, hidden_size);
  }
  router_bias_ = weights.find_vector(prefix + "ffn_gate_inp.bias", spec.count);
  choice_bias_ = weights.find_vector(prefix + "exp_probs_b.bias", spec.count);
  const int64_t read = spec.latent > 0 ? spec.latent : hidden_size;
  if (spec.latent > 0) {
    latent_down_ = weights.matrix(prefix + "ffn_latent_down", spec.latent, hidden_size);
    latent_up_ = weights.matrix(prefix + "ffn_latent_up", hidden_size, spec.latent);
  }
  if (joined_) {
    up_ = weights.experts(prefix + "ffn_gate_up_exps", spec.count, 2 * spec.width, read);
    up_bias_ = weights.find_expert_biases(prefix + "ffn_gate_up_exps.bias", spec.count, 2 * spec.width);
    if (!up_.expert_scales) up_.expert_scales = weights.find_expert_scales(prefix + "ffn_up_exps", spec.count);
  } else {
    if (spec.gated) {
      gate_ = weights.experts(prefix + "ffn_gate_exps", spec.count, spec.width, read);
      gate_bias_ = weights.find_expert_biases(prefix + "ffn_gate_exps.bias", spec.count, spec.width);
    }
    up_ = weights.experts(prefix + "ffn_up_exps", spec.count, spec.width, read);
    up_bias_ = weights.find_expert_biases(prefix + "ffn_up_exps.bias", spec.count, spec.width);
  }
  down_ = weights.experts(prefix + "ffn_down_exps", spec.count, read, spec.width);
  down_bias_ = weights.find_expert_biases(prefix + "ffn_down_exps.bias", spec.count, read);
  sum_bias_ = weights.find_vector(prefix + "ffn_exps.bias", hidden_size);
}

Tensor ExpertsMixer::within_groups(const Tensor& scores) const {
  if (spec_.groups_used >= spec_.groups) return scores;
  const int64_t tokens = scores.dim(0), members = spec_.count / spec_.groups;
  const Tensor grouped = scores.reshape({tokens, spec_.groups, members});
  const bool by_two = spec_.routing == Routing::sigmoid && members > 1;
  const Tensor merits = grouped.topk(by_two ? 2 : 1).first.sum(-1);
  const Tensor best = merits.topk(spec_.groups_used).second;
  const Tensor penalty = where_chosen(merits, best, 0, kNever).unsqueeze(-1);
  return (grouped + penalty).reshape({tokens, spec_.count});
}

Choice ExpertsMixer::choose(const Tensor& scores) const {
  if (spec_.routing == Routing::sparse_mixer) return choose_sparsely(scores);
  const bool late = spec_.routing == Routing::softmax_of_used;
  const Tensor shares = spec_.routing == Routing::sigmoid ? scores.sigmoid() : late ? scores : softmax_last_dim(scores);
  const Tensor merits = within_groups(biased(shares, choice_bias_));
  const Tensor ids = merits.topk(spec_.used).second;
  Tensor weights = shares.gather(ids, -1);
  if (late) weights = softmax_last_dim(weights);
  if (spec_.normalized && !late) weights = weights / (weights.sum_keepdim(-1) + kMinSum);
  if (spec_.weight_scale != 1) weights = weights * spec_.weight_scale;
  return {ids, weights};
}

Choice ExpertsMixer::choose_sparsely(const Tensor& scores) const {
  std::vector<Tensor> ids, weights;
  Tensor left = scores;  // those chosen before being −∞
  for (int64_t place = 0; place < spec_.used; ++place) {
    const Tensor id = left.argmax_keepdim(-1);
    const Tensor largest = left.gather(id, -1);
    const Tensor distance = (largest - scores) / scores.abs().maximum(largest);
    const Tensor near = softmax_last_dim(left.masked_fill(distance.gt(kSparseMixerShare), kNever));
    weights.push_back(near.gather(id, -1));
    left = left + where_chosen(left, id, kNever, 0);
    ids.push_back(id);
  }
  return {Tensor::cat(ids, -1), Tensor::cat(weights, -1)};
}

Tensor ExpertsMixer::product(const Tensor& x, const ScaledMatrix& matrix, const std::optional<Tensor>& bias, const Tensor& ids,
                             const MixerContext& context) const {
  if (matrix.scale == 1 && !matrix.expert_scales) return linear_experts(x, matrix.weight, ids, context.linear, pointer_to(bias));
  Tensor y = matrix.scaled(linear_experts(x, matrix.weight, ids, context.linear));
  if (matrix.expert_scales) y = y * matrix.expert_scales->index_select(ids.reshape({ids.elements()}), 0).reshape({y.dim(0), y.dim(1), 1});
  return bias ? y + bias->index_select(ids.reshape({ids.elements()}), 0).reshape(y.shape()) : y;
}

Tensor ExpertsMixer::inner(const Tensor& x, const Tensor& ids, const MixerContext& context) const {
  if (!spec_.gated) return nn::Activation(spec_.activation).forward(product(x, up_, up_bias_, ids, context));
  if (joined_) {
    const Tensor both = product(x, up_, up_bias_, ids, context);
    return apply_gate(spec_.gate, both.narrow(-1, 0, spec_.width).contiguous(), both.narrow(-1, spec_.width, spec_.width).contiguous());
  }
  const bool plain = gate_.scale == 1 && up_.scale == 1 && !gate_.expert_scales && !up_.expert_scales;
  if (!plain || gate_.weight.dtype() != up_.weight.dtype()) {
    return apply_gate(spec_.gate, product(x, gate_, gate_bias_, ids, context), product(x, up_, up_bias_, ids, context));
  }
  LinearParams params = context.linear;
  params.gate = spec_.gate;
  return gated_linear_experts(x, gate_.weight, up_.weight, ids, params, pointer_to(gate_bias_), pointer_to(up_bias_));
}

Tensor ExpertsMixer::forward(const Tensor& read, const MixerContext& context) const {
  const Tensor routed = router_scale_ ? read * *router_scale_ : read, normed = input_scale_ ? read * *input_scale_ : read;
  context.show_input({router_.name}, routed);
  LinearParams exact = context.linear;
  exact.precise = true;
  const Choice choice = choose(biased(router_.scaled(linear(routed, router_.weight, exact)), router_bias_));
  const Tensor weights = choice.weights.unsqueeze(-1);
  if (latent_down_) context.show_input({latent_down_->name}, normed);
  const Tensor own = latent_down_ ? context.product(*latent_down_, normed) : normed;
  const Tensor x = spec_.weights_input ? own.unsqueeze(1) * weights : own;
  context.show_input({gate_.name, up_.name}, x, spec_.count, choice.ids);
  const Tensor hidden = inner(x, choice.ids, context);
  context.show_input({down_.name}, hidden, spec_.count, choice.ids);
  const Tensor results = product(hidden, down_, down_bias_, choice.ids, context);
  Tensor sum = spec_.weights_input ? results.sum(1) : (results * weights).sum(1);
  if (latent_up_) {
    context.show_input({latent_up_->name}, sum);
    sum = context.product(*latent_up_, sum);
  }
  return biased(sum, sum_bias_);
}

}  // namespace

std::unique_ptr<Mixer> build_experts(const ExpertsSpec& spec, WeightReader& weights, const MixerPlace& place) {
  return std::make_unique<ExpertsMixer>(spec, weights, place);
}

}  // namespace wick
