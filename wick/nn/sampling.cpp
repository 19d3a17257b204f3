#include "wick/nn/sampling.h"

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"

namespace wick::nn {

Tensor gumbel_softmax(const Tensor& logits, double temperature, int dim) {
  check_assigned("gumbel_softmax", {{"logits", logits}});
  if (!(temperature >= 0)) fail(ErrorCode::invalid_argument, "gumbel_softmax: temperature is {}; allowed: 0 or more", temperature);
  const Tensor x = logits.detach();
  if (temperature == 0) return x.argmax(dim);
  // -log(-log(u)); u keeps off 0 and 1, where the noise would be infinite.
  const Tensor noise = Tensor::rand(1e-7, 0.9999999, x.shape(), DType::f32, x.device()).log().neg().log();
  return (x.to_dtype(DType::f32) - noise * temperature).argmax(dim);
}

}  // namespace wick::nn
