// Ops along one dimension: softmax and its logarithm, RMS and layer normalisation.
#pragma once

#include <optional>

#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {

// e^(x - max) / Σ e^(x - max). Float dtypes. A row of only -inf becomes NaN, as in PyTorch.
[[nodiscard]] Tensor softmax(const Tensor& x, int dim);
[[nodiscard]] inline Tensor softmax_last_dim(const Tensor& x) { return softmax(x, -1); }
// x - max - log Σ e^(x - max).
[[nodiscard]] Tensor log_softmax(const Tensor& x, int dim);
// x / sqrt(mean(x²) + ε) · weight, weight of shape [last]. Zhang & Sennrich 2019. Of x's dtype, then rounded to `dtype` if there is one
// (linear_input_dtype).
[[nodiscard]] Tensor rms_norm(const Tensor& x, const Tensor& weight, const RmsNormParams& params, std::optional<DType> dtype = {});
[[nodiscard]] inline Tensor rms_norm(const Tensor& x, const Tensor& weight, float epsilon) {
  return rms_norm(x, weight, RmsNormParams{.epsilon = epsilon});
}
// x + y, and its rms_norm: one pass where a residual connection meets the next norm. x and y are of one shape and dtype. The norm is that
// of the sum before it is rounded to the dtype; `dtype` is the norm's, as rms_norm's.
struct SumAndNorm {
  Tensor sum, norm;
};
[[nodiscard]] SumAndNorm add_rms_norm(const Tensor& x, const Tensor& y, const Tensor& weight, const RmsNormParams& params,
                                      std::optional<DType> dtype = {});
[[nodiscard]] inline SumAndNorm add_rms_norm(const Tensor& x, const Tensor& y, const Tensor& weight, float epsilon) {
  return add_rms_norm(x, y, weight, RmsNormParams{.epsilon = epsilon});
}
// (x - mean) / sqrt(variance + ε) · weight + bias, both of shape [last]; the variance is Σ (x - mean)² / n. Ba, Kiros & Hinton 2016.
[[nodiscard]] Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, float epsilon);

}  // namespace wick
