// One number in every element.
#pragma once

#include "wick/ir/kernel.h"
#include "wick/op/device_caps.h"

namespace wick::kernels {

// Buffer y, of elements of 1, 2, 4 or 8 bytes. Parameters of a StridedGrid with a view "y"; low and high, the halves of the element's bits.
[[nodiscard]] ir::Kernel fill(uint32_t element_bytes, uint32_t rank, const DeviceCaps& caps);

}  // namespace wick::kernels
