// Random tensors are being written: until then whoever asks for one is told so.
#include "base/error.h"
#include "tensor/tensor.h"

namespace wick {

[[gnu::weak]] Tensor Tensor::rand(double /*low*/, double /*high*/, const Shape& /*shape*/, DType /*dtype*/, const Device& /*device*/) {
  fail(ErrorCode::unsupported, "rand: this version does not have the op");
}

[[gnu::weak]] Tensor Tensor::randn(double /*mean*/, double /*deviation*/, const Shape& /*shape*/, DType /*dtype*/,
                                   const Device& /*device*/) {
  fail(ErrorCode::unsupported, "randn: this version does not have the op");
}

}  // namespace wick
