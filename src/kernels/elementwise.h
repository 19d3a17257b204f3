// Elementwise functions of one or two arrays of up to four dimensions.
#pragma once

#include <string_view>

#include "ir/device_caps.h"
#include "ir/kernel.h"
#include "kernels/strided.h"

namespace wick::kernels {

enum class UnaryOp : uint8_t { copy, negate, absolute, square, square_root, exp, log, sine, cosine, tanh, sigmoid, silu, gelu, relu };
enum class BinaryOp : uint8_t { add, subtract, multiply, divide, minimum, maximum };
[[nodiscard]] std::string_view to_string(UnaryOp op) noexcept;
[[nodiscard]] std::string_view to_string(BinaryOp op) noexcept;

// Buffers x, y: y[i] = op(x at the place of element i). Computed in f32.
// Parameters: count, then the last three extents, then x's offset and four strides. The output is contiguous.
// Grid: groups_for(kernel, count), one lane for each element; the groups may be spread over two dimensions.
[[nodiscard]] ir::Kernel unary(UnaryOp op, ir::Element in, ir::Element out, const DeviceCaps& caps);
// Buffers a, b, y: y[i] = op(a…, b…). Parameters: count, the last three extents, offset and four strides of a, then of b. A stride of 0
// repeats (broadcasting).
[[nodiscard]] ir::Kernel binary(BinaryOp op, ir::Element in, ir::Element out, const DeviceCaps& caps);

}  // namespace wick::kernels
