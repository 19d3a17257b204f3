// Rearranging the pixels of images [batch, channels, height, width].
#pragma once

#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {
namespace nn {

// [batch, channels · f², h, w] -> [batch, channels, h · f, w · f]: each pixel's f² channels become a square (Shi et al. 2016).
[[nodiscard]] Tensor pixel_shuffle(const Tensor& x, int64_t factor);
// Its inverse.
[[nodiscard]] Tensor pixel_unshuffle(const Tensor& x, int64_t factor);
// The pixels of the border, repeated `padding` times on every side.
[[nodiscard]] Tensor replication_pad2d(const Tensor& x, int64_t padding);

}  // namespace nn
}  // namespace wick
