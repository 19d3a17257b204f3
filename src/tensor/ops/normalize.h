// Ops along the last dimension: softmax, argmax, RMS normalisation.
#pragma once

#include "tensor/tensor.h"

namespace wick {

// e^(x - max) / Σ e^(x - max). Float dtypes. A row of only -inf becomes NaN, as in PyTorch.
[[nodiscard]] Tensor softmax_last_dim(const Tensor& x);
// The index of the largest element, the first of equal ones, NaN counting as largest; shape without the last dimension, u32.
// Errors: shape_mismatch for an empty last dimension.
[[nodiscard]] Tensor argmax_last_dim(const Tensor& x);
// x / sqrt(mean(x²) + ε) · weight, weight of shape [last]. Zhang & Sennrich 2019.
[[nodiscard]] Tensor rms_norm(const Tensor& x, const Tensor& weight, float epsilon);

}  // namespace wick
