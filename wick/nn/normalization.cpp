#include "wick/nn/normalization.h"

#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"

namespace wick::nn {
namespace {

DType wide(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

// (x - mean) / √(mean((x - mean)²) + ε), in x's dtype if it is wide.
Tensor normalized(const Tensor& x, double epsilon, bool remove_mean) {
  const Tensor widened = x.to_dtype(wide(x.dtype()));
  const Tensor centred = remove_mean ? widened - widened.mean_keepdim(-1) : widened;
  return centred * (centred.sqr().mean_keepdim(-1) + epsilon).rsqrt();
}

Tensor scaled(const Tensor& x, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias) {
  Tensor result = x;
  if (weight) result = result * weight->to_dtype(x.dtype());
  if (bias) result = result + bias->to_dtype(x.dtype());
  return result;
}

void check_rank(const char* name, const Tensor& x) {
  if (x.rank() == 0) fail(ErrorCode::shape_mismatch, "{}: x {} has no last dimension", name, x.describe());
}

}  // namespace

Tensor layer_norm_slow(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon) {
  check_assigned("layer_norm_slow", {{"x", x}, {"weight", weight}, {"bias", bias}});
  check_rank("layer_norm_slow", x);
  return scaled(normalized(x, epsilon, true), weight, bias).to_dtype(x.dtype());
}

Tensor rms_norm_slow(const Tensor& x, const Tensor& weight, double epsilon) {
  check_assigned("rms_norm_slow", {{"x", x}, {"weight", weight}});
  check_rank("rms_norm_slow", x);
  return scaled(normalized(x, epsilon, false), weight, std::nullopt).to_dtype(x.dtype());
}

LayerNorm::LayerNorm(Tensor weight, std::optional<Tensor> bias, double epsilon, bool remove_mean)
    : weight_(std::move(weight)), bias_(std::move(bias)), epsilon_(epsilon), remove_mean_(remove_mean) {
  if (weight_->rank() != 1 || (bias_ && bias_->shape() != weight_->shape())) {
    fail(ErrorCode::shape_mismatch, "LayerNorm: weight {} and bias {} must both be [size]", weight_->describe(),
         bias_ ? bias_->describe() : "none");
  }
}

Tensor LayerNorm::forward(const Tensor& x) const {
  check_assigned("LayerNorm", {{"x", x}});
  check_rank("LayerNorm", x);
  if (weight_ && bias_ && remove_mean_) return wick::layer_norm(x, *weight_, *bias_, static_cast<float>(epsilon_));
  if (weight_ && !bias_ && !remove_mean_) return wick::rms_norm(x, *weight_, static_cast<float>(epsilon_));
  return scaled(normalized(x, epsilon_, remove_mean_), weight_, bias_).to_dtype(x.dtype());
}

Tensor RmsNorm::forward(const Tensor& x) const {
  check_assigned("RmsNorm", {{"x", x}});
  return wick::rms_norm(x, weight_, static_cast<float>(epsilon_));
}

LayerNorm::LayerNorm(int64_t size, const LayerNormConfig& config, const LayerOptions& options)
    : LayerNorm(nn::layer_norm(size, config, new_variables("LayerNorm", {size}, options))) {}

void LayerNorm::visit_tensors(const TensorVisitor& visit) const {
  if (weight_) visit("weight", *weight_, TensorRole::parameter);
  if (bias_) visit("bias", *bias_, TensorRole::parameter);
}

RmsNorm::RmsNorm(int64_t size, double epsilon, const LayerOptions& options)
    : RmsNorm(nn::rms_norm(size, epsilon, new_variables("RmsNorm", {size}, options))) {}

void RmsNorm::visit_tensors(const TensorVisitor& visit) const { visit("weight", weight_, TensorRole::parameter); }

void GroupNorm::visit_tensors(const TensorVisitor& visit) const {
  visit("weight", weight_, TensorRole::parameter);
  visit("bias", bias_, TensorRole::parameter);
}

GroupNorm::GroupNorm(Tensor weight, Tensor bias, int64_t groups, double epsilon)
    : weight_(std::move(weight)), bias_(std::move(bias)), groups_(groups), epsilon_(epsilon) {
  if (weight_.rank() != 1 || bias_.shape() != weight_.shape()) {
    fail(ErrorCode::shape_mismatch, "GroupNorm: weight {} and bias {} must both be [channels]", weight_.describe(), bias_.describe());
  }
  if (groups < 1 || weight_.elements() % groups != 0) {
    fail(ErrorCode::invalid_argument, "GroupNorm: {} groups do not divide {} channels", groups, weight_.elements());
  }
}

Tensor GroupNorm::forward(const Tensor& x) const {
  check_assigned("GroupNorm", {{"x", x}});
  const int64_t channels = weight_.elements();
  if (x.rank() < 2 || x.shape()[1] != channels) {
    fail(ErrorCode::shape_mismatch, "GroupNorm: x {} must be [batch, {}, ...]", x.describe(), channels);
  }
  if (x.elements() == 0) return x.contiguous();
  const Tensor groups = x.reshape({x.shape()[0], groups_, -1});
  std::vector<int64_t> dims(static_cast<size_t>(x.rank()), 1);
  dims[1] = channels;
  const Shape beside{std::span<const int64_t>(dims)};
  const Tensor result = normalized(groups, epsilon_, true).reshape(x.shape());
  return scaled(result, weight_.reshape(beside), bias_.reshape(beside)).to_dtype(x.dtype());
}

LayerNorm layer_norm(int64_t size, const LayerNormConfig& config, const VarBuilder& builder) {
  const Tensor weight = builder.get_with_hints({size}, "weight", init::Constant{1});
  if (!config.affine) return LayerNorm(weight, std::nullopt, config.epsilon, config.remove_mean);
  return LayerNorm(weight, builder.get_with_hints({size}, "bias", init::Constant{0}), config.epsilon, config.remove_mean);
}

LayerNorm layer_norm_no_bias(int64_t size, double epsilon, const VarBuilder& builder) {
  return layer_norm(size, {.epsilon = epsilon, .remove_mean = true, .affine = false}, builder);
}

RmsNorm rms_norm(int64_t size, double epsilon, const VarBuilder& builder) {
  return RmsNorm(builder.get_with_hints({size}, "weight", init::Constant{1}), epsilon);
}

GroupNorm group_norm(int64_t groups, int64_t channels, double epsilon, const VarBuilder& builder) {
  const Tensor weight = builder.get_with_hints({channels}, "weight", init::Constant{1});
  return GroupNorm(weight, builder.get_with_hints({channels}, "bias", init::Constant{0}), groups, epsilon);
}

}  // namespace wick::nn
