#include "nets.h"

namespace mnist {

PublishedNet::PublishedNet(const nn::VarBuilder& builder)
    : conv1_(nn::conv2d(1, 8, 3, {}, builder.pp("conv1"))),
      conv2_(nn::conv2d(8, 16, 3, {}, builder.pp("conv2"))),
      conv3_(nn::conv2d(16, 24, 3, {}, builder.pp("conv3"))),
      norm1_(nn::batch_norm(24, {}, builder.pp("norm1"))),
      fc1_(nn::linear(24 * 22 * 22, 32, builder.pp("fc1"))),
      fc2_(nn::linear(32, 10, builder.pp("fc2"))),
      norm2_(nn::batch_norm(10, {}, builder.pp("norm2"))) {}

Tensor PublishedNet::forward(const Tensor& x) const {
  const Tensor image = conv3_.forward(conv2_.forward(conv1_.forward(x).relu()).relu()).relu();
  const Tensor features = norm1_.forward(image).flatten_from(1);
  return norm2_.forward(fc2_.forward(fc1_.forward(features).relu()));
}

SmallNet::SmallNet(const nn::VarBuilder& builder)
    : conv1_(nn::conv2d(1, 8, 5, {}, builder.pp("conv1"))),
      conv2_(nn::conv2d(8, 16, 5, {}, builder.pp("conv2"))),
      fc1_(nn::linear(16 * 4 * 4, 64, builder.pp("fc1"))),
      fc2_(nn::linear(64, 10, builder.pp("fc2"))) {}

Tensor SmallNet::forward_t(const Tensor& x, nn::Mode mode) const {
  const Tensor halves = conv1_.forward(x).max_pool2d({2, 2}).relu();
  const Tensor quarters = conv2_.forward(halves).max_pool2d({2, 2}).relu();
  const Tensor hidden = fc1_.forward(quarters.flatten_from(1)).relu();
  return fc2_.forward(dropout_.forward_t(hidden, mode));
}

}  // namespace mnist
