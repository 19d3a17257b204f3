// Where a tensor is not 0, with the dtype of the indices.
#pragma once

#include "wick/tensor/tensor.h"

namespace wick {

// [n, rank]: as Tensor::nonzero, which gives u32, in the dtype `index`, an integer one.
[[nodiscard]] Tensor nonzero(const Tensor& x, DType index);

}  // namespace wick
