// PReLU: a rectifier whose slope below 0 is learnt (He et al. 2015).
#pragma once

#include <optional>

#include "wick/nn/module.h"
#include "wick/nn/var_builder.h"

namespace [[gnu::visibility("default")]] wick {
namespace nn {

class PReLU final : public Module {
 public:
  // weight: one slope for all, or [channels]. Errors: shape_mismatch.
  explicit PReLU(Tensor weight);

  // x for x > 0, else weight · x; channels are x's dimension 1, or its only one.
  [[nodiscard]] Tensor forward(const Tensor& x) const override;
  void visit_tensors(const TensorVisitor& visit) const override;
  [[nodiscard]] const Tensor& weight() const noexcept { return weight_; }

 private:
  Tensor weight_;
};

// "weight" below the builder's prefix, of one slope where no channels are given; new slopes are 0.25.
[[nodiscard]] PReLU prelu(std::optional<int64_t> channels, const VarBuilder& builder);

}  // namespace nn
}  // namespace wick
