// Reductions beside those of Tensor.
#pragma once

#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {

// The sum in another dtype: the elements are converted first, a part at a time where the tensor is large and not tracked. keep: reduced
// dimensions stay with an extent of 1. Errors: as Tensor::sum and Tensor::to_dtype.
[[nodiscard]] Tensor sum(const Tensor& x, const Dims& dims, DType dtype, bool keep = false);

// √x, whose gradient is 0 where x is 0: the root of sums of squares, as PyTorch differentiates norm and std.
[[nodiscard]] Tensor root_of_squares(const Tensor& x);

}  // namespace wick
