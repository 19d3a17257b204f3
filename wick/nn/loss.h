// Losses: how far a net's outputs are from what they should be, each the mean over a batch, a scalar.
#pragma once

#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {
namespace nn {

// log_probabilities [batch, classes], target [batch] of an integer dtype: -mean(log_probabilities[i, target[i]]).
// Errors: shape_mismatch, dtype_mismatch; index_out_of_range for a target that is no class.
[[nodiscard]] Tensor nll(const Tensor& log_probabilities, const Tensor& target);
// nll of the logits' log_softmax.
[[nodiscard]] Tensor cross_entropy(const Tensor& logits, const Tensor& target);
// mean((x - target)²). Errors: shape_mismatch where the shapes are not equal: a loss does not broadcast.
[[nodiscard]] Tensor mse(const Tensor& x, const Tensor& target);
// -mean(target · log p + (1 - target) · log(1 - p)) for p = sigmoid(logits), without overflow; targets are in [0, 1].
[[nodiscard]] Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target);
// mean(d² / 2 where |d| ≤ δ, else δ · (|d| - δ / 2)) for d = x - target (Huber 1964). Errors: invalid_argument for a δ of 0 or less.
[[nodiscard]] Tensor huber(const Tensor& x, const Tensor& target, double delta = 1);

}  // namespace nn
}  // namespace wick
