// Short convolutions over the rows of sequences, and what is kept of their last rows.
#pragma once

#include "wick/ir/kernel.h"
#include "wick/op/device_caps.h"
#include "wick/op/op.h"

namespace wick::kernels {

// Rows of a sequence that a lane takes, of one column.
[[nodiscard]] uint32_t causal_conv_rows(uint32_t kernel);

// Buffers x [rows, width], of x_stride, weight [kernel, width] and bias [width], f32; places: from and to [sequences]; states f32 [slots,
// (kernel - 1) · width]; y [rows, width]. Parameters: lanes = sequences · ⌈positions / causal_conv_rows⌉ · width, positions = rows /
// sequences, width, x_stride; where x, weight, bias, from, to and states begin; a slot's stride; where y begins. Grid: a lane each.
[[nodiscard]] ir::Kernel causal_conv(CausalConvParams params, uint32_t kernel, const DeviceCaps& caps);

}  // namespace wick::kernels
