// fill: every element of a tensor, through any layout, becomes one value.
#pragma once

#include "wick/tensor/tensor.h"

namespace wick {

// Errors: unsupported for quantized dtypes, and for a tracked target, naming the function that the user called.
void fill(const Tensor& target, double value, std::string_view function = "fill");

}  // namespace wick
