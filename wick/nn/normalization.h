// Normalisation of each example by itself: LayerNorm, RmsNorm and GroupNorm.
#pragma once

#include <optional>

#include "wick/nn/module.h"
#include "wick/nn/var_builder.h"
#include "wick/tensor/ops/normalize.h"

namespace [[gnu::visibility("default")]] wick {
namespace nn {

using wick::log_softmax;
using wick::softmax;
using wick::softmax_last_dim;

using wick::layer_norm;
using wick::rms_norm;
// The same functions composed of elementwise ones and reductions: what the fused ones mean. Narrow floats are widened to f32.
[[nodiscard]] Tensor layer_norm_slow(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon);
[[nodiscard]] Tensor rms_norm_slow(const Tensor& x, const Tensor& weight, double epsilon);

struct LayerNormConfig {
  double epsilon = 1e-5;
  // Without it the mean stays, and only the root of the mean square is normalised.
  bool remove_mean = true;
  bool affine = true;
};

class LayerNorm final : public Module {
 public:
  // weight and bias [last]. Errors: shape_mismatch.
  LayerNorm(Tensor weight, std::optional<Tensor> bias, double epsilon, bool remove_mean = true);
  // New variables, as layer_norm makes them. Errors: invalid_argument for a size below 1.
  explicit LayerNorm(int64_t size, const LayerNormConfig& config = {}, const LayerOptions& options = {});
  // Neither weight nor bias.
  [[nodiscard]] static LayerNorm plain(double epsilon, bool remove_mean = true) { return LayerNorm(epsilon, remove_mean); }

  [[nodiscard]] Tensor forward(const Tensor& x) const override;
  void visit_tensors(const TensorVisitor& visit) const override;
  [[nodiscard]] const std::optional<Tensor>& weight() const noexcept { return weight_; }
  [[nodiscard]] const std::optional<Tensor>& bias() const noexcept { return bias_; }

 private:
  LayerNorm(double epsilon, bool remove_mean) : epsilon_(epsilon), remove_mean_(remove_mean) {}

  std::optional<Tensor> weight_;
  std::optional<Tensor> bias_;
  double epsilon_;
  bool remove_mean_;
};

class RmsNorm final : public Module {
 public:
  // weight [last].
  RmsNorm(Tensor weight, double epsilon) : weight_(std::move(weight)), epsilon_(epsilon) {}
  // A new variable of ones. Errors: invalid_argument for a size below 1.
  explicit RmsNorm(int64_t size, double epsilon = 1e-5, const LayerOptions& options = {});
  [[nodiscard]] Tensor forward(const Tensor& x) const override;
  void visit_tensors(const TensorVisitor& visit) const override;
  [[nodiscard]] const Tensor& weight() const noexcept { return weight_; }

 private:
  Tensor weight_;
  double epsilon_;
};

// The channels of each example fall into groups; each is normalised over its channels and places (Wu & He 2018).
class GroupNorm final : public Module {
 public:
  // weight and bias [channels]. Errors: shape_mismatch; invalid_argument for channels that are no multiple of the groups.
  GroupNorm(Tensor weight, Tensor bias, int64_t groups, double epsilon);
  // x [batch, channels, ...].
  [[nodiscard]] Tensor forward(const Tensor& x) const override;
  void visit_tensors(const TensorVisitor& visit) const override;

 private:
  Tensor weight_;
  Tensor bias_;
  int64_t groups_;
  double epsilon_;
};

// "weight" and "bias" below the builder's prefix; new ones are 1 and 0.
[[nodiscard]] LayerNorm layer_norm(int64_t size, const LayerNormConfig& config, const VarBuilder& builder);
[[nodiscard]] LayerNorm layer_norm_no_bias(int64_t size, double epsilon, const VarBuilder& builder);
[[nodiscard]] RmsNorm rms_norm(int64_t size, double epsilon, const VarBuilder& builder);
[[nodiscard]] GroupNorm group_norm(int64_t groups, int64_t channels, double epsilon, const VarBuilder& builder);

}  // namespace nn
}  // namespace wick
