// Elementwise functions of one tensor; the usual ones are methods of Tensor. Results are row-major, of the operand's shape and dtype.
#pragma once

#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {

// op/op.h defines each function. Integers: neg, abs and sqr wrap around (neg of u8 1 is 255), affine and clamp are computed in f64,
// truncated toward zero and saturated, floor, ceil, round and trunc change nothing; the others leave the integers (unsupported).
[[nodiscard]] Tensor unary(const UnaryParams& params, const Tensor& x);

// To the nearest whole number, halves to the even one (IEEE 754's roundTiesToEven), where Tensor::round rounds halves away from zero.
[[nodiscard]] Tensor round_even(const Tensor& x);

}  // namespace wick
