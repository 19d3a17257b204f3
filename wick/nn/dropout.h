// Dropout: elements at random become 0 in training, the others grow so that the expectation stays (Srivastava et al. 2014).
#pragma once

#include "wick/nn/module.h"

namespace [[gnu::visibility("default")]] wick {
namespace nn {

// Each element is 0 with that probability, else x / (1 - probability). The numbers come from the device's stream: the same seed
// (Device::set_seed) drops the same elements. Errors: invalid_argument for a probability outside [0, 1).
[[nodiscard]] Tensor dropout(const Tensor& x, double probability);

class Dropout final : public Module {
 public:
  // Errors: as dropout's.
  explicit Dropout(double probability);

  [[nodiscard]] Tensor forward(const Tensor& x) const override { return forward_t(x, Mode::evaluate); }
  [[nodiscard]] Tensor forward_t(const Tensor& x, Mode mode) const override;

 private:
  double probability_;
};

}  // namespace nn
}  // namespace wick
