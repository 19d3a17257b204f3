// Elementwise functions of two tensors, with broadcasting; the usual ones are methods of Tensor.
#pragma once

#include "wick/tensor/tensor.h"

namespace wick {

// Errors: dtype_mismatch, shape_mismatch, unsupported for quantized dtypes. Integer division by zero and what it leaves are 0; overflow
// wraps; a negative power of an integer is what is left of it toward zero.
[[nodiscard]] Tensor binary(BinaryKind kind, const Tensor& lhs, const Tensor& rhs);

// The common checks of functions of two tensors: one dtype, shapes that broadcast. Returns the common shape.
[[nodiscard]] Shape broadcast_operands(std::string_view name, const Tensor& lhs, const Tensor& rhs);

}  // namespace wick
