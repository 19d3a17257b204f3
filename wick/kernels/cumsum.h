// Running sums along rows.
#pragma once

#include "wick/ir/kernel.h"
#include "wick/layout/dtype.h"
#include "wick/op/device_caps.h"

namespace wick::kernels {

// Buffers x, y. Parameters: those of a StridedGrid over rows with views "x" and "y" of their first elements; length, x_step, y_step. A
// group takes a row. Sums of f64 are in f64, of other floats in f32 with as many digits again, of integers in their own dtype.
[[nodiscard]] ir::Kernel cumsum(DType dtype, uint32_t rank, const DeviceCaps& caps);

}  // namespace wick::kernels
