// Copies and fills of bytes: WebGPU's own take whole words alone.
#pragma once

#include "wick/ir/kernel.h"

namespace wick::webgpu {

inline constexpr uint32_t kByteKernelLanes = 64;

// A lane for each word of the target that holds one of the bytes; the others in it stay. Parameters: the place of the first byte in the
// source, in the target, and the number of bytes; of a fill the place in the target, the number, and the byte.
[[nodiscard]] ir::Kernel copy_bytes_kernel();
[[nodiscard]] ir::Kernel fill_bytes_kernel();

}  // namespace wick::webgpu
