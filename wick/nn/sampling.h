// Draws from distributions that a net gives as logits.
#pragma once

#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {
namespace nn {

// One index (u32) along `dim` for each distribution, drawn with probability softmax(logits / temperature): the place of the largest
// logits / temperature + Gumbel noise (Gumbel 1954; Maddison et al. 2014). The largest logit's at a temperature of 0.
[[nodiscard]] Tensor gumbel_softmax(const Tensor& logits, double temperature, int dim);

}  // namespace nn
}  // namespace wick
