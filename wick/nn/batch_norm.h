// BatchNorm: each channel normalised over the batch in training, by running statistics in evaluation (Ioffe & Szegedy 2015).
#pragma once

#include <optional>
#include <utility>

#include "wick/nn/module.h"
#include "wick/nn/var_builder.h"
#include "wick/tensor/variable.h"

namespace [[gnu::visibility("default")]] wick {
namespace nn {

struct BatchNormConfig {
  double epsilon = 1e-5;
  // The mean is taken away; without it only the scale is normalised.
  bool remove_mean = true;
  // A weight and a bias for each channel.
  bool affine = true;
  // The share of the newest batch in the running statistics.
  double momentum = 0.1;
};

class BatchNorm final : public Module {
 public:
  // All of shape [channels]. The layer writes to the running statistics in training.
  // Errors: shape_mismatch; invalid_argument for a negative epsilon or a momentum outside [0, 1].
  BatchNorm(Var running_mean, Var running_variance, std::optional<Tensor> weight, std::optional<Tensor> bias,
            const BatchNormConfig& config = {});
  // New variables, as batch_norm makes them. Errors: invalid_argument for fewer than one channel.
  explicit BatchNorm(int64_t channels, const BatchNormConfig& config = {}, const LayerOptions& options = {});

  // x [batch, channels, ...] -> (x - mean) / √(variance + ε) · weight + bias.
  [[nodiscard]] Tensor forward(const Tensor& x) const override;
  // In training: by the statistics of this batch (with the variance Σ(x - mean)² / n), which move the running ones; those hold the
  // unbiased variance. Errors: invalid_argument where a channel has one element, which has no variance.
  [[nodiscard]] Tensor forward_t(const Tensor& x, Mode mode) const override;

  void visit_tensors(const TensorVisitor& visit) const override;

  // The layer's transformation of a channel in evaluation: x · scale + shift.
  [[nodiscard]] std::pair<Tensor, Tensor> scale_and_shift() const;
  [[nodiscard]] const Var& running_mean() const noexcept { return running_mean_; }
  [[nodiscard]] const Var& running_variance() const noexcept { return running_variance_; }
  [[nodiscard]] const std::optional<Tensor>& weight() const noexcept { return weight_; }
  [[nodiscard]] const std::optional<Tensor>& bias() const noexcept { return bias_; }
  [[nodiscard]] const BatchNormConfig& config() const noexcept { return config_; }

 private:
  void check_input(const Tensor& x) const;
  [[nodiscard]] Tensor forward_train(const Tensor& x) const;

  Var running_mean_;
  Var running_variance_;
  std::optional<Tensor> weight_;
  std::optional<Tensor> bias_;
  BatchNormConfig config_;
};

// "running_mean", "running_var" and, if affine, "weight" and "bias" below the builder's prefix.
[[nodiscard]] BatchNorm batch_norm(int64_t channels, const BatchNormConfig& config, const VarBuilder& builder);

}  // namespace nn
}  // namespace wick
