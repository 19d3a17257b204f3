#include "wick/nn/batch_norm.h"

#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"

namespace wick::nn {
namespace {

// [channels] as [1, channels, 1, …], beside x.
Tensor beside(const Tensor& per_channel, const Tensor& x) {
  std::vector<int64_t> dims(static_cast<size_t>(x.rank()), 1);
  dims[1] = per_channel.elements();
  return per_channel.reshape(Shape(std::span<const int64_t>(dims)));
}

}  // namespace

BatchNorm::BatchNorm(Var running_mean, Var running_variance, std::optional<Tensor> weight, std::optional<Tensor> bias,
                     const BatchNormConfig& config)
    : running_mean_(std::move(running_mean)),
      running_variance_(std::move(running_variance)),
      weight_(std::move(weight)),
      bias_(std::move(bias)),
      config_(config) {
  const Shape& shape = running_mean_->shape();
  const auto fits = [&](const std::optional<Tensor>& part) { return !part || part->shape() == shape; };
  if (shape.rank() != 1 || running_variance_->shape() != shape || !fits(weight_) || !fits(bias_)) {
    fail(ErrorCode::shape_mismatch, "BatchNorm: mean {}, variance {}, weight {}, bias {} must all be [channels]", running_mean_->describe(),
         running_variance_->describe(), weight_ ? weight_->describe() : "none", bias_ ? bias_->describe() : "none");
  }
  if (!(config.epsilon >= 0) || !(config.momentum >= 0 && config.momentum <= 1)) {
    fail(ErrorCode::invalid_argument, "BatchNorm: epsilon {} and momentum {}: want one of 0 or more and one in [0, 1]", config.epsilon,
         config.momentum);
  }
}

void BatchNorm::check_input(const Tensor& x) const {
  check_assigned("BatchNorm", {{"x", x}});
  if (x.rank() >= 2 && x.shape()[1] == running_mean_->elements()) return;
  fail(ErrorCode::shape_mismatch, "BatchNorm: x {} must be [batch, {}, ...]", x.describe(), running_mean_->elements());
}

std::pair<Tensor, Tensor> BatchNorm::scale_and_shift() const {
  const Tensor mean = running_mean_.as_detached_tensor();
  Tensor scale = (running_variance_.as_detached_tensor() + config_.epsilon).rsqrt();
  if (weight_) scale = scale * *weight_;
  Tensor shift = config_.remove_mean ? (mean * scale).neg() : mean.zeros_like();
  if (bias_) shift = shift + *bias_;
  return {scale, shift};
}

BatchNorm::BatchNorm(int64_t channels, const BatchNormConfig& config, const LayerOptions& options)
    : BatchNorm(batch_norm(channels, config, new_variables("BatchNorm", {channels}, options))) {}

void BatchNorm::visit_tensors(const TensorVisitor& visit) const {
  visit("running_mean", running_mean_.tensor(), TensorRole::buffer);
  visit("running_var", running_variance_.tensor(), TensorRole::buffer);
  if (weight_) visit("weight", *weight_, TensorRole::parameter);
  if (bias_) visit("bias", *bias_, TensorRole::parameter);
}

Tensor BatchNorm::forward(const Tensor& x) const {
  check_input(x);
  const auto [scale, shift] = scale_and_shift();
  return x * beside(scale, x) + beside(shift, x);
}

Tensor BatchNorm::forward_t(const Tensor& x, Mode mode) const { return mode == Mode::train ? forward_train(x) : forward(x); }

Tensor BatchNorm::forward_train(const Tensor& x) const {
  check_input(x);
  const auto count = static_cast<double>(x.elements()) / static_cast<double>(std::max<int64_t>(x.shape()[1], 1));
  if (count < 2) {
    fail(ErrorCode::invalid_argument, "BatchNorm: x {} has fewer than two elements a channel, which have no variance to train with",
         x.describe());
  }
  std::vector<int> others = {0};
  for (int dim = 2; dim < x.rank(); ++dim) others.push_back(dim);
  const Dims over(others);
  const Tensor mean = x.mean_keepdim(over);
  const Tensor centred = config_.remove_mean ? x - mean : x;
  const Tensor variance = centred.sqr().mean_keepdim(over);

  const auto move = [&](const Var& running, const Tensor& newest) {
    const Tensor flat = newest.detach().flatten_all().to_dtype(running->dtype());
    running.set(running.as_detached_tensor() * (1 - config_.momentum) + flat * config_.momentum);
  };
  move(running_mean_, mean);
  move(running_variance_, variance.detach() * (count / (count - 1)));

  Tensor scale = (variance + config_.epsilon).rsqrt();
  if (weight_) scale = scale * beside(*weight_, x);
  const Tensor result = centred * scale;
  return bias_ ? result + beside(*bias_, x) : result;
}

BatchNorm batch_norm(int64_t channels, const BatchNormConfig& config, const VarBuilder& builder) {
  const Var mean = builder.get_buffer({channels}, "running_mean", init::Constant{0});
  const Var variance = builder.get_buffer({channels}, "running_var", init::Constant{1});
  if (!config.affine) return BatchNorm(mean, variance, std::nullopt, std::nullopt, config);
  const Tensor weight = builder.get_with_hints({channels}, "weight", init::Constant{1});
  const Tensor bias = builder.get_with_hints({channels}, "bias", init::Constant{0});
  return BatchNorm(mean, variance, weight, bias, config);
}

}  // namespace wick::nn
