// Convolution layers in one and two dimensions, and their transposes.
#pragma once

#include <optional>

#include "wick/nn/batch_norm.h"
#include "wick/nn/module.h"
#include "wick/nn/var_builder.h"

namespace [[gnu::visibility("default")]] wick {
namespace nn {

struct ConvConfig {
  int64_t padding = 0;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t groups = 1;
};
struct ConvTransposeConfig {
  int64_t padding = 0;
  int64_t output_padding = 0;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t groups = 1;
};

// Base of the four convolution layers: a kernel and a bias for each output channel.
class ConvBase : public Module {
 public:
  [[nodiscard]] const Tensor& weight() const noexcept { return weight_; }
  [[nodiscard]] const std::optional<Tensor>& bias() const noexcept { return bias_; }
  void visit_tensors(const TensorVisitor& visit) const override;

 protected:
  // Errors: shape_mismatch, naming the layer.
  ConvBase(const char* layer, Tensor weight, std::optional<Tensor> bias, int rank, int64_t channels);
  // Adds the bias along dimension 1.
  [[nodiscard]] Tensor biased(const Tensor& x) const;

  Tensor weight_;
  std::optional<Tensor> bias_;
};

// x [batch, in, length] -> [batch, out, length']; weight [out, in / groups, k], bias [out].
class Conv1d final : public ConvBase {
 public:
  explicit Conv1d(const Tensor& weight, std::optional<Tensor> bias = std::nullopt, const ConvConfig& config = {});
  // New variables, as conv1d draws them. Errors: invalid_argument.
  Conv1d(int64_t in, int64_t out, int64_t kernel, const ConvConfig& config = {}, const LayerOptions& options = {});
  [[nodiscard]] Tensor forward(const Tensor& x) const override;
  [[nodiscard]] const ConvConfig& config() const noexcept { return config_; }
  // One layer that does what this one and, in evaluation, a batch normalisation after it do.
  [[nodiscard]] Conv1d absorb_bn(const BatchNorm& norm) const;

 private:
  ConvConfig config_;
};

// x [batch, in, h, w] -> [batch, out, h', w']; weight [out, in / groups, kh, kw], bias [out].
class Conv2d final : public ConvBase {
 public:
  explicit Conv2d(const Tensor& weight, std::optional<Tensor> bias = std::nullopt, const ConvConfig& config = {});
  // New variables, as conv2d draws them; the kernel is square. Errors: invalid_argument.
  Conv2d(int64_t in, int64_t out, int64_t kernel, const ConvConfig& config = {}, const LayerOptions& options = {});
  [[nodiscard]] Tensor forward(const Tensor& x) const override;
  [[nodiscard]] const ConvConfig& config() const noexcept { return config_; }
  [[nodiscard]] Conv2d absorb_bn(const BatchNorm& norm) const;

 private:
  ConvConfig config_;
};

// weight [in, out / groups, k], bias [out].
class ConvTranspose1d final : public ConvBase {
 public:
  explicit ConvTranspose1d(const Tensor& weight, std::optional<Tensor> bias = std::nullopt, const ConvTransposeConfig& config = {});
  [[nodiscard]] Tensor forward(const Tensor& x) const override;
  [[nodiscard]] const ConvTransposeConfig& config() const noexcept { return config_; }

 private:
  ConvTransposeConfig config_;
};

// weight [in, out / groups, kh, kw], bias [out].
class ConvTranspose2d final : public ConvBase {
 public:
  explicit ConvTranspose2d(const Tensor& weight, std::optional<Tensor> bias = std::nullopt, const ConvTransposeConfig& config = {});
  [[nodiscard]] Tensor forward(const Tensor& x) const override;
  [[nodiscard]] const ConvTransposeConfig& config() const noexcept { return config_; }

 private:
  ConvTransposeConfig config_;
};

// "weight" and "bias" below the builder's prefix; new ones are drawn as PyTorch does it: uniform in ±1/√(elements under the kernel).
[[nodiscard]] Conv1d conv1d(int64_t in, int64_t out, int64_t kernel, const ConvConfig& config, const VarBuilder& builder);
[[nodiscard]] Conv1d conv1d_no_bias(int64_t in, int64_t out, int64_t kernel, const ConvConfig& config, const VarBuilder& builder);
[[nodiscard]] Conv2d conv2d(int64_t in, int64_t out, int64_t kernel, const ConvConfig& config, const VarBuilder& builder);
[[nodiscard]] Conv2d conv2d_no_bias(int64_t in, int64_t out, int64_t kernel, const ConvConfig& config, const VarBuilder& builder);
[[nodiscard]] ConvTranspose1d conv_transpose1d(int64_t in, int64_t out, int64_t kernel, const ConvTransposeConfig& config,
                                               const VarBuilder& builder);
[[nodiscard]] ConvTranspose1d conv_transpose1d_no_bias(int64_t in, int64_t out, int64_t kernel, const ConvTransposeConfig& config,
                                                       const VarBuilder& builder);
[[nodiscard]] ConvTranspose2d conv_transpose2d(int64_t in, int64_t out, int64_t kernel, const ConvTransposeConfig& config,
                                               const VarBuilder& builder);
[[nodiscard]] ConvTranspose2d conv_transpose2d_no_bias(int64_t in, int64_t out, int64_t kernel, const ConvTransposeConfig& config,
                                                       const VarBuilder& builder);

}  // namespace nn
}  // namespace wick
