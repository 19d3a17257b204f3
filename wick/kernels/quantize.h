// Plain tensors as quantized ones, which caches are.
#pragma once

#include <functional>

#include "wick/ir/builder.h"
#include "wick/ir/kernel.h"
#include "wick/op/device_caps.h"

namespace wick::kernels {

// Writes a block of q8_0, of 32 numbers in f32, to the 17 words of u16 from `first` on. A block with a number that is not finite becomes
// one of NaNs.
void store_q8_0_block(ir::KernelBuilder& k, const ir::Memory& y, const ir::Value& first,
                      const std::function<ir::Value(const ir::Value& i)>& number);

// Buffers x f32, y: blocks of q8_0. Parameters: those of a StridedGrid over blocks with the views "x" and "y", which counts blocks; and
// x_step, the distance of neighbouring elements of a block in x.
[[nodiscard]] ir::Kernel quantize_q8_0(uint32_t rank, const DeviceCaps& caps);

}  // namespace wick::kernels
