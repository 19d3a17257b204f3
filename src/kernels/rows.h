// Functions of the rows of a matrix, one group for each row: reductions, softmax, RMS norm.
#pragma once

#include "ir/device_caps.h"
#include "ir/kernel.h"

namespace wick::kernels {

// All take rows one behind the other, of `columns` elements (parameter 0), compute in f32, and want a grid of one group for each row.

// Buffers x, y: y[row], an f32, is the sum, the least or the greatest of the row. A row has at least one element.
[[nodiscard]] ir::Kernel reduce_rows(ir::Reduce reduce, ir::Element in, const DeviceCaps& caps);
// Buffers x, y: y = e^(x - max) / Σ e^(x - max).
[[nodiscard]] ir::Kernel softmax(ir::Element element, const DeviceCaps& caps);
// Buffers x, weight, y: y = x / √(mean(x²) + epsilon) · weight. Parameter 1: epsilon (f32).
[[nodiscard]] ir::Kernel rms_norm(ir::Element element, const DeviceCaps& caps);

}  // namespace wick::kernels
