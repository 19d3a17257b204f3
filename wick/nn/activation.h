// Activation functions: each as a function of tensors, and all of them as values that a model's configuration names.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "wick/nn/module.h"

namespace [[gnu::visibility("default")]] wick {
namespace nn {

[[nodiscard]] inline Tensor sigmoid(const Tensor& x) { return x.sigmoid(); }
[[nodiscard]] inline Tensor silu(const Tensor& x) { return x.silu(); }
// silu(a) · b for the halves a and b of the last dimension (Shazeer 2020).
[[nodiscard]] Tensor swiglu(const Tensor& x);
// clamp(x / 6 + 1/2, 0, 1)
[[nodiscard]] Tensor hard_sigmoid(const Tensor& x);
// x · hard_sigmoid(x) (Howard et al. 2019)
[[nodiscard]] Tensor hard_swish(const Tensor& x);
// x · tanh(log(1 + e^x)) (Misra 2019)
[[nodiscard]] Tensor mish(const Tensor& x);
// log(1 + e^x)
[[nodiscard]] Tensor softplus(const Tensor& x);
// x for x > 0, else slope · x
[[nodiscard]] Tensor leaky_relu(const Tensor& x, double slope = 0.01);
// scale · (x for x > 0, else α (e^x - 1)), with the α and scale of Klambauer et al. 2017 unless others are given.
inline constexpr double kSeluAlpha = 1.6732632423543772;
inline constexpr double kSeluScale = 1.0507009873554805;
[[nodiscard]] Tensor selu(const Tensor& x, double alpha = kSeluAlpha, double scale = kSeluScale);

enum class ActivationKind {
  gelu,      // x / 2 · (1 + erf(x / √2))
  new_gelu,  // its approximation by tanh
  relu,
  relu2,  // relu(x)²
  relu6,  // clamp(x, 0, 6)
  silu,
  sigmoid,
  hard_sigmoid,
  swiglu,
  swish,  // silu's other name
  mish,
  hard_swish,
  elu,
  leaky_relu,
  gelu_pytorch_tanh,  // new_gelu's other name
};

class Activation final : public Module {
 public:
  // `parameter`: elu's α, leaky_relu's slope; the others have none.
  Activation(ActivationKind kind, double parameter) : kind_(kind), parameter_(parameter) {}
  // elu with α = 1, leaky_relu with slope 0.01.
  Activation(ActivationKind kind) : Activation(kind, kind == ActivationKind::leaky_relu ? 0.01 : 1) {}  // NOLINT: a kind is an activation
  // By the name that Hugging Face's configurations have for it ("gelu_new", "silu"). Errors: invalid_argument, listing the names.
  [[nodiscard]] static Activation parse(std::string_view name);

  [[nodiscard]] Tensor forward(const Tensor& x) const override;
  [[nodiscard]] ActivationKind kind() const noexcept { return kind_; }
  [[nodiscard]] double parameter() const noexcept { return parameter_; }
  // The name that parse knows.
  [[nodiscard]] std::string_view name() const noexcept;

 private:
  ActivationKind kind_;
  double parameter_;
};

}  // namespace nn
}  // namespace wick
