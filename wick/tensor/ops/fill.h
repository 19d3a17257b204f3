// fill: every element of a tensor, through any layout, becomes one value.
#pragma once

#include "wick/tensor/tensor.h"

namespace wick {

// Errors: unsupported for quantized dtypes.
void fill(const Tensor& target, double value);

}  // namespace wick
