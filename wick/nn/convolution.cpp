#include "wick/nn/convolution.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"

namespace wick::nn {
namespace {

// Channels of a transposed convolution's result.
int64_t transposed_channels(const Tensor& weight, const ConvTransposeConfig& config) {
  return weight.rank() > 1 ? weight.shape()[1] * config.groups : 0;
}

int64_t channels_of(const Tensor& weight) { return weight.rank() > 0 ? weight.shape()[0] : 0; }

// A batch normalisation in evaluation is x · scale + shift for each channel; so is what follows from it for a kernel and its bias.
std::pair<Tensor, Tensor> absorbed(const Tensor& weight, const std::optional<Tensor>& bias, const BatchNorm& norm) {
  const auto [scale, shift] = norm.scale_and_shift();
  std::vector<int64_t> dims(static_cast<size_t>(weight.rank()), 1);
  dims[0] = scale.elements();
  const Tensor kernel = weight * scale.to_dtype(weight.dtype()).reshape(Shape(std::span<const int64_t>(dims)));
  const Tensor sum = bias ? *bias * scale.to_dtype(bias->dtype()) + shift.to_dtype(bias->dtype()) : shift.to_dtype(weight.dtype());
  return {kernel, sum};
}

struct Parameters {
  Tensor weight;
  std::optional<Tensor> bias;
};

Parameters parameters(const Shape& shape, int64_t out, bool bias, const VarBuilder& builder) {
  const double bound = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(fan_of(init::Fan::in, shape), 1)));
  const init::Uniform around_zero{-bound, bound};
  Parameters made{builder.get_with_hints(shape, "weight", around_zero), std::nullopt};
  if (bias) made.bias = builder.get_with_hints({out}, "bias", around_zero);
  return made;
}

void check_groups(int64_t channels, int64_t groups) {
  if (groups >= 1 && channels % groups == 0) return;
  fail(ErrorCode::invalid_argument, "convolution: {} groups do not divide {} channels", groups, channels);
}

Conv1d conv1d_b(int64_t in, int64_t out, int64_t kernel, const ConvConfig& config, bool bias, const VarBuilder& builder) {
  check_groups(in, config.groups);
  const auto [weight, shift] = parameters({out, in / config.groups, kernel}, out, bias, builder);
  return Conv1d(weight, shift, config);
}

Conv2d conv2d_b(int64_t in, int64_t out, int64_t kernel, const ConvConfig& config, bool bias, const VarBuilder& builder) {
  check_groups(in, config.groups);
  const auto [weight, shift] = parameters({out, in / config.groups, kernel, kernel}, out, bias, builder);
  return Conv2d(weight, shift, config);
}

ConvTranspose1d transpose1d_b(int64_t in, int64_t out, int64_t kernel, const ConvTransposeConfig& config, bool bias,
                              const VarBuilder& builder) {
  check_groups(out, config.groups);
  const auto [weight, shift] = parameters({in, out / config.groups, kernel}, out, bias, builder);
  return ConvTranspose1d(weight, shift, config);
}

ConvTranspose2d transpose2d_b(int64_t in, int64_t out, int64_t kernel, const ConvTransposeConfig& config, bool bias,
                              const VarBuilder& builder) {
  check_groups(out, config.groups);
  const auto [weight, shift] = parameters({in, out / config.groups, kernel, kernel}, out, bias, builder);
  return ConvTranspose2d(weight, shift, config);
}

}  // namespace

ConvBase::ConvBase(const char* layer, Tensor weight, std::optional<Tensor> bias, int rank, int64_t channels)
    : weight_(std::move(weight)), bias_(std::move(bias)) {
  if (weight_.rank() != rank) fail(ErrorCode::shape_mismatch, "{}: the weight {} must have rank {}", layer, weight_.describe(), rank);
  if (bias_ && bias_->shape() != Shape{channels}) {
    fail(ErrorCode::shape_mismatch, "{}: the bias {} must be [{}] for the weight {}", layer, bias_->describe(), channels,
         weight_.describe());
  }
}

Tensor ConvBase::biased(const Tensor& x) const {
  if (!bias_) return x;
  std::vector<int64_t> dims(static_cast<size_t>(x.rank()), 1);
  dims[1] = bias_->elements();
  return x + bias_->reshape(Shape(std::span<const int64_t>(dims)));
}

void ConvBase::visit_tensors(const TensorVisitor& visit) const {
  visit("weight", weight_, TensorRole::parameter);
  if (bias_) visit("bias", *bias_, TensorRole::parameter);
}

Conv1d::Conv1d(int64_t in, int64_t out, int64_t kernel, const ConvConfig& config, const LayerOptions& options)
    : Conv1d(conv1d_b(in, out, kernel, config, options.bias, new_variables("Conv1d", {in, out, kernel}, options))) {}

Conv2d::Conv2d(int64_t in, int64_t out, int64_t kernel, const ConvConfig& config, const LayerOptions& options)
    : Conv2d(conv2d_b(in, out, kernel, config, options.bias, new_variables("Conv2d", {in, out, kernel}, options))) {}

Conv1d::Conv1d(const Tensor& weight, std::optional<Tensor> bias, const ConvConfig& config)
    : ConvBase("Conv1d", weight, std::move(bias), 3, channels_of(weight)), config_(config) {}

Tensor Conv1d::forward(const Tensor& x) const {
  check_assigned("Conv1d", {{"x", x}});
  return biased(
      on_behalf_of("Conv1d", [&] { return x.conv1d(weight_, config_.padding, config_.stride, config_.dilation, config_.groups); }));
}

Conv1d Conv1d::absorb_bn(const BatchNorm& norm) const {
  const auto [weight, bias] = absorbed(weight_, bias_, norm);
  return Conv1d(weight, bias, config_);
}

Conv2d::Conv2d(const Tensor& weight, std::optional<Tensor> bias, const ConvConfig& config)
    : ConvBase("Conv2d", weight, std::move(bias), 4, channels_of(weight)), config_(config) {}

Tensor Conv2d::forward(const Tensor& x) const {
  check_assigned("Conv2d", {{"x", x}});
  return biased(
      on_behalf_of("Conv2d", [&] { return x.conv2d(weight_, config_.padding, config_.stride, config_.dilation, config_.groups); }));
}

Conv2d Conv2d::absorb_bn(const BatchNorm& norm) const {
  const auto [weight, bias] = absorbed(weight_, bias_, norm);
  return Conv2d(weight, bias, config_);
}

ConvTranspose1d::ConvTranspose1d(const Tensor& weight, std::optional<Tensor> bias, const ConvTransposeConfig& config)
    : ConvBase("ConvTranspose1d", weight, std::move(bias), 3, transposed_channels(weight, config)), config_(config) {}

Tensor ConvTranspose1d::forward(const Tensor& x) const {
  check_assigned("ConvTranspose1d", {{"x", x}});
  return biased(on_behalf_of("ConvTranspose1d", [&] {
    return x.conv_transpose1d(weight_, config_.padding, config_.output_padding, config_.stride, config_.dilation, config_.groups);
  }));
}

ConvTranspose2d::ConvTranspose2d(const Tensor& weight, std::optional<Tensor> bias, const ConvTransposeConfig& config)
    : ConvBase("ConvTranspose2d", weight, std::move(bias), 4, transposed_channels(weight, config)), config_(config) {}

Tensor ConvTranspose2d::forward(const Tensor& x) const {
  check_assigned("ConvTranspose2d", {{"x", x}});
  return biased(on_behalf_of("ConvTranspose2d", [&] {
    return x.conv_transpose2d(weight_, config_.padding, config_.output_padding, config_.stride, config_.dilation, config_.groups);
  }));
}

Conv1d conv1d(int64_t in, int64_t out, int64_t kernel, const ConvConfig& config, const VarBuilder& builder) {
  return conv1d_b(in, out, kernel, config, true, builder);
}

Conv1d conv1d_no_bias(int64_t in, int64_t out, int64_t kernel, const ConvConfig& config, const VarBuilder& builder) {
  return conv1d_b(in, out, kernel, config, false, builder);
}

Conv2d conv2d(int64_t in, int64_t out, int64_t kernel, const ConvConfig& config, const VarBuilder& builder) {
  return conv2d_b(in, out, kernel, config, true, builder);
}

Conv2d conv2d_no_bias(int64_t in, int64_t out, int64_t kernel, const ConvConfig& config, const VarBuilder& builder) {
  return conv2d_b(in, out, kernel, config, false, builder);
}

ConvTranspose1d conv_transpose1d(int64_t in, int64_t out, int64_t kernel, const ConvTransposeConfig& config, const VarBuilder& builder) {
  return transpose1d_b(in, out, kernel, config, true, builder);
}

ConvTranspose1d conv_transpose1d_no_bias(int64_t in, int64_t out, int64_t kernel, const ConvTransposeConfig& config,
                                         const VarBuilder& builder) {
  return transpose1d_b(in, out, kernel, config, false, builder);
}

ConvTranspose2d conv_transpose2d(int64_t in, int64_t out, int64_t kernel, const ConvTransposeConfig& config, const VarBuilder& builder) {
  return transpose2d_b(in, out, kernel, config, true, builder);
}

ConvTranspose2d conv_transpose2d_no_bias(int64_t in, int64_t out, int64_t kernel, const ConvTransposeConfig& config,
                                         const VarBuilder& builder) {
  return transpose2d_b(in, out, kernel, config, false, builder);
}

}  // namespace wick::nn
