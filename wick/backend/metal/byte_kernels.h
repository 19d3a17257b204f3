// Copies and fills as kernels: a command buffer then needs no other encoder, and Metal's own take whole words alone.
#pragma once

#include "wick/ir/kernel.h"

namespace wick::metal {

inline constexpr uint32_t kByteKernelLanes = 256;

// A lane for each element, which is a byte or a word. Parameters: the place of the first element in the source, in the target, and the
// number of elements; of a fill the place in the target, the number, and the element.
[[nodiscard]] ir::Kernel copy_kernel(ir::Element element);
[[nodiscard]] ir::Kernel fill_kernel(ir::Element element);

}  // namespace wick::metal
