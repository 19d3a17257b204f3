// Linear: x · weightᵀ + bias.
#pragma once

#include <optional>

#include "wick/nn/module.h"
#include "wick/nn/var_builder.h"

namespace [[gnu::visibility("default")]] wick {
namespace nn {

class Linear final : public Module {
 public:
  // weight [out, in], float or quantized; bias [out]. Errors: shape_mismatch.
  explicit Linear(Tensor weight, std::optional<Tensor> bias = std::nullopt);
  // New variables, as linear_b draws them. Errors: invalid_argument for a size below 1.
  Linear(int64_t in, int64_t out, const LayerOptions& options = {});

  // x [..., in] of the weight's dtype (f32 for a quantized one) -> [..., out].
  [[nodiscard]] Tensor forward(const Tensor& x) const override;
  void visit_tensors(const TensorVisitor& visit) const override;
  [[nodiscard]] const Tensor& weight() const noexcept { return weight_; }
  [[nodiscard]] const std::optional<Tensor>& bias() const noexcept { return bias_; }

 private:
  Tensor weight_;
  std::optional<Tensor> bias_;
};

// "weight" and "bias" below the builder's prefix; new ones are drawn as PyTorch does it: uniform in ±1/√in.
[[nodiscard]] Linear linear(int64_t in, int64_t out, const VarBuilder& builder);
[[nodiscard]] Linear linear_no_bias(int64_t in, int64_t out, const VarBuilder& builder);
[[nodiscard]] Linear linear_b(int64_t in, int64_t out, bool bias, const VarBuilder& builder);

}  // namespace nn
}  // namespace wick
