// matmul: batched matrix product of float tensors.
#pragma once

#include "wick/tensor/tensor.h"

namespace wick {

// [..., m, k] · [..., k, n] -> [..., m, n]; batch dimensions broadcast; any strides (a transposed view is not copied first).
// Float dtypes, equal on both sides; sums in f32 (f64 for f64). Errors: shape_mismatch, dtype_mismatch.
[[nodiscard]] Tensor matmul(const Tensor& lhs, const Tensor& rhs);

}  // namespace wick
