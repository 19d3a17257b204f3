// Elementwise functions of one tensor. Results are row-major, of the operand's shape and dtype.
#pragma once

#include "tensor/tensor.h"

namespace wick {

// neg and abs of integers wrap around: neg of u8 1 is 255. Errors: unsupported for integer dtypes where the function leaves them (all but
// neg, abs, relu), and for quantized ones.
[[nodiscard]] Tensor unary(UnaryKind kind, const Tensor& x);
[[nodiscard]] inline Tensor neg(const Tensor& x) { return unary(UnaryKind::neg, x); }
[[nodiscard]] inline Tensor abs(const Tensor& x) { return unary(UnaryKind::abs, x); }
[[nodiscard]] inline Tensor exp(const Tensor& x) { return unary(UnaryKind::exp, x); }
[[nodiscard]] inline Tensor sqrt(const Tensor& x) { return unary(UnaryKind::sqrt, x); }
[[nodiscard]] inline Tensor recip(const Tensor& x) { return unary(UnaryKind::recip, x); }
// x · sigmoid(x) = x / (1 + e^-x)
[[nodiscard]] inline Tensor silu(const Tensor& x) { return unary(UnaryKind::silu, x); }
[[nodiscard]] inline Tensor tanh(const Tensor& x) { return unary(UnaryKind::tanh, x); }
[[nodiscard]] inline Tensor relu(const Tensor& x) { return unary(UnaryKind::relu, x); }

}  // namespace wick
