// Elementwise functions of two tensors of one dtype; shapes broadcast as NumPy's do. Results are row-major.
#pragma once

#include "tensor/tensor.h"

namespace wick {

// Errors: dtype_mismatch, shape_mismatch, unsupported for quantized dtypes. Integer division by zero gives 0; overflow wraps.
[[nodiscard]] Tensor binary(BinaryKind kind, const Tensor& lhs, const Tensor& rhs);
[[nodiscard]] inline Tensor add(const Tensor& lhs, const Tensor& rhs) { return binary(BinaryKind::add, lhs, rhs); }
[[nodiscard]] inline Tensor sub(const Tensor& lhs, const Tensor& rhs) { return binary(BinaryKind::sub, lhs, rhs); }
[[nodiscard]] inline Tensor mul(const Tensor& lhs, const Tensor& rhs) { return binary(BinaryKind::mul, lhs, rhs); }
[[nodiscard]] inline Tensor div(const Tensor& lhs, const Tensor& rhs) { return binary(BinaryKind::div, lhs, rhs); }
[[nodiscard]] inline Tensor minimum(const Tensor& lhs, const Tensor& rhs) { return binary(BinaryKind::minimum, lhs, rhs); }
[[nodiscard]] inline Tensor maximum(const Tensor& lhs, const Tensor& rhs) { return binary(BinaryKind::maximum, lhs, rhs); }

}  // namespace wick
