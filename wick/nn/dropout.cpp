#include "wick/nn/dropout.h"

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"

namespace wick::nn {
namespace {

void check_probability(double probability) {
  if (probability >= 0 && probability < 1) return;
  fail(ErrorCode::invalid_argument, "dropout: the probability is {}; allowed: from 0 to below 1", probability);
}

}  // namespace

Tensor dropout(const Tensor& x, double probability) {
  check_assigned("dropout", {{"x", x}});
  check_probability(probability);
  if (probability == 0) return x;
  // f32 whatever x is: a narrower float has too few numbers for a small probability.
  const Tensor kept = Tensor::rand(0, 1, x.shape(), DType::f32, x.device()).ge(probability);
  return x * kept.to_dtype(x.dtype()).affine(1 / (1 - probability), 0);
}

Dropout::Dropout(double probability) : probability_(probability) { check_probability(probability); }

Tensor Dropout::forward_t(const Tensor& x, Mode mode) const {
  check_assigned("Dropout", {{"x", x}});
  if (mode == Mode::train) return dropout(x, probability_);
  (void)x.storage();  // a tensor that was never assigned is an error here too
  return x;
}

}  // namespace wick::nn
