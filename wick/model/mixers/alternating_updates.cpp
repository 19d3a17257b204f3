#include "wick/model/mixers/alternating_updates.h"

#include <fmt/format.h>

#include <numeric>
#include <string>
#include <vector>

namespace wick {
namespace {

// Of mean squares that are divided by.
constexpr double kLeastMeanSquare = 1e-5;

// Of the last dimension, which stays with an extent of 1.
Tensor mean_square(const Tensor& x) { return x.sqr().mean_keepdim(-1); }

}  // namespace

AlternatingStreams::AlternatingStreams(const AlternatingSpec& spec, WeightReader& weights, int64_t hidden_size)
    : streams_(spec.streams),
      spread_(weights.experts("altup_proj", spec.streams - 1, hidden_size, hidden_size)),
      merge_(weights.experts("altup_unembd_proj", spec.streams - 1, hidden_size, hidden_size)) {
  std::vector<int32_t> each(static_cast<size_t>(spec.streams - 1));
  std::iota(each.begin(), each.end(), 0);
  each_ = Tensor::from_vector(each, {1, spec.streams - 1}, weights.device());
}

Tensor AlternatingStreams::further(const ScaledMatrix& matrices, const Tensor& x, const Tensor& first, const LinearParams& linear) const {
  const Tensor ids = each_.broadcast_to({x.dim(0), streams_ - 1}).contiguous();
  const Tensor made = matrices.scaled(linear_experts(x, matrices.weight, ids, linear));
  const Tensor factor = mean_square(first).sqrt().unsqueeze(1) / mean_square(made).maximum(kLeastMeanSquare).sqrt();
  return made * factor;
}

Tensor AlternatingStreams::spread(const Tensor& x, const LinearParams& linear) const {
  return Tensor::cat({x.unsqueeze(1), further(spread_, x, x, linear)}, 1);
}

Tensor AlternatingStreams::merge(const Tensor& streams, const LinearParams& linear) const {
  const Tensor first = streams.narrow(1, 0, 1).reshape({streams.dim(0), streams.dim(2)});
  const Tensor others = further(merge_, streams.narrow(1, 1, streams_ - 1).contiguous(), first, linear);
  return (first + others.sum(1)) * (1 / static_cast<double>(streams_));
}

AlternatingUpdates::AlternatingUpdates(const AlternatingSpec& spec, WeightReader& weights, const MixerPlace& place)
    : streams_(spec.streams),
      active_(spec.active),
      hidden_size_(place.hidden_size),
      router_norm_(NormSpec{.name = "altup_router_norm", .epsilon = spec.norm_epsilon}, weights, fmt::format("blk.{}.", place.layer),
                   place.hidden_size),
      post_norm_(NormSpec{.name = "post_norm", .epsilon = spec.norm_epsilon}, weights, fmt::format("blk.{}.", place.layer),
                 place.hidden_size),
      layer_input_(build_layer_input(spec.layer_input, weights, place)) {
  const std::string prefix = fmt::format("blk.{}.", place.layer);
  const auto transposed = [&](const char* name, int64_t rows, int64_t columns) {
    return weights.vectors(prefix + name + ".weight", rows, columns).transpose(0, 1).contiguous();
  };
  router_ = transposed("altup_router", streams_, hidden_size_);
  predict_ = transposed("altup_predict_coef", streams_ * streams_, streams_);
  correct_ = transposed("altup_correct_coef", streams_, streams_);
  scale_ = weights.vector(prefix + "altup_correct_scale.weight", hidden_size_);
}

Tensor AlternatingUpdates::routed(const Tensor& x) const {
  return (router_norm_(x) * (1 / static_cast<double>(hidden_size_))).matmul(router_).tanh();
}

Tensor AlternatingUpdates::active(const Tensor& streams) const {
  return streams.narrow(1, active_, 1).reshape({streams.dim(0), hidden_size_}).contiguous();
}

Tensor AlternatingUpdates::predict(const Tensor& streams) const {
  const Tensor coefficients = routed(active(streams)).matmul(predict_).reshape({streams.dim(0), streams_, streams_});
  return streams + coefficients.matmul(streams);
}

Tensor AlternatingUpdates::correct(const Tensor& predicted, const Tensor& computed, const MixerContext& context) const {
  const Tensor innovation = (computed - active(predicted)).unsqueeze(1);
  const Tensor coefficients = routed(computed).matmul(correct_) + 1.0;
  const Tensor corrected = predicted + coefficients.unsqueeze(-1) * innovation;
  const Tensor taken = post_norm_(layer_input_->forward(active(corrected) * scale_, context));
  return Tensor::cat({corrected.narrow(1, 0, 1), corrected.narrow(1, 1, streams_ - 1) + taken.unsqueeze(1)}, 1);
}

}  // namespace wick
