// Plain tensors as quantized ones, which caches are.
#pragma once

#include "ir/device_caps.h"
#include "ir/kernel.h"

namespace wick::kernels {

// Buffers x f32, y: blocks of q8_0. Parameters: those of a StridedGrid over blocks with the views "x" and "y", which counts blocks; and
// x_step, the distance of neighbouring elements of a block in x. A block with a number that is not finite becomes one of NaNs.
[[nodiscard]] ir::Kernel quantize_q8_0(uint32_t rank, const DeviceCaps& caps);

}  // namespace wick::kernels
