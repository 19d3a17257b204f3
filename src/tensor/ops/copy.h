// copy: elements move between layouts and dtypes of one device.
#pragma once

#include "tensor/tensor.h"

namespace wick {

// target = source, element by element, converted to target's dtype; any strides on both sides, source may be broadcast.
// The two must not overlap in memory. Float to integer truncates toward zero and saturates, NaN becomes 0; float to a narrower float
// rounds to nearest even. A quantized source is dequantized. Errors: shape_mismatch; unsupported for a quantized target.
void copy(const Tensor& source, const Tensor& target);
// A new row-major tensor of that dtype.
[[nodiscard]] Tensor to_dtype(const Tensor& source, DType dtype);

}  // namespace wick
