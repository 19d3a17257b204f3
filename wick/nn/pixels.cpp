#include "wick/nn/pixels.h"

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"

namespace wick::nn {

Tensor pixel_shuffle(const Tensor& x, int64_t factor) {
  check_assigned("pixel_shuffle", {{"x", x}});
  if (x.rank() != 4 || factor < 1 || x.shape()[1] % (factor * factor) != 0) {
    fail(ErrorCode::shape_mismatch, "pixel_shuffle: x {} must be [batch, channels, h, w] with channels a multiple of {}²", x.describe(),
         factor);
  }
  const Shape& shape = x.shape();
  const int64_t channels = shape[1] / (factor * factor);
  return x.reshape({shape[0], channels, factor, factor, shape[2], shape[3]})
      .permute({0, 1, 4, 2, 5, 3})
      .reshape({shape[0], channels, shape[2] * factor, shape[3] * factor});
}

Tensor pixel_unshuffle(const Tensor& x, int64_t factor) {
  check_assigned("pixel_unshuffle", {{"x", x}});
  if (x.rank() != 4 || factor < 1 || x.shape()[2] % factor != 0 || x.shape()[3] % factor != 0) {
    fail(ErrorCode::shape_mismatch, "pixel_unshuffle: x {} must be [batch, channels, h, w] with h and w multiples of {}", x.describe(),
         factor);
  }
  const Shape& shape = x.shape();
  const int64_t height = shape[2] / factor;
  const int64_t width = shape[3] / factor;
  return x.reshape({shape[0], shape[1], height, factor, width, factor})
      .permute({0, 1, 3, 5, 2, 4})
      .reshape({shape[0], shape[1] * factor * factor, height, width});
}

Tensor replication_pad2d(const Tensor& x, int64_t padding) {
  check_assigned("replication_pad2d", {{"x", x}});
  if (x.rank() < 2) fail(ErrorCode::shape_mismatch, "replication_pad2d: x {} must be [..., h, w]", x.describe());
  if (padding < 0) fail(ErrorCode::invalid_argument, "replication_pad2d: padding is {}; allowed: 0 or more", padding);
  return x.pad_with_same(-1, padding, padding).pad_with_same(-2, padding, padding);
}

}  // namespace wick::nn
