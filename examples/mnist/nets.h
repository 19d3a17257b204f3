// Two nets that tell digits apart: images [n, 1, 28, 28] -> logits [n, 10].
#pragma once

#include <wick/wick.h>

namespace mnist {

namespace nn = wick::nn;
using wick::Tensor;

// The net of mnist.safetensors: three convolutions of 3 × 3 without padding (8, 16 and 24 channels), normalisation, then 32 and 10
// linear units, normalised again. A rectifier follows each convolution and the first linear layer.
class PublishedNet final : public nn::Module {
 public:
  explicit PublishedNet(const nn::VarBuilder& builder);
  [[nodiscard]] Tensor forward(const Tensor& x) const override;

 private:
  nn::Conv2d conv1_;
  nn::Conv2d conv2_;
  nn::Conv2d conv3_;
  nn::BatchNorm norm1_;
  nn::Linear fc1_;
  nn::Linear fc2_;
  nn::BatchNorm norm2_;
};

// A net that is trained in a minute, after LeNet (LeCun et al. 1998): twice a convolution of 5 × 5 (8 and 16 channels), the maximum of
// each 2 × 2 and a rectifier; then 64 and 10 linear units. 22,282 parameters.
class SmallNet final : public nn::Module {
 public:
  explicit SmallNet(const nn::VarBuilder& builder);
  [[nodiscard]] Tensor forward(const Tensor& x) const override { return forward_t(x, nn::Mode::evaluate); }
  [[nodiscard]] Tensor forward_t(const Tensor& x, nn::Mode mode) const override;

 private:
  nn::Conv2d conv1_;
  nn::Conv2d conv2_;
  nn::Linear fc1_;
  nn::Linear fc2_;
  nn::Dropout dropout_{0.2};
};

}  // namespace mnist
