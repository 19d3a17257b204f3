// Rotary position embedding.
#pragma once

#include "ir/device_caps.h"
#include "ir/kernel.h"
#include "layout/dtype.h"

namespace wick::kernels {

// Buffers x [tokens, heads, head_dim], table f32 [tokens, pairs, 2] of (cos, sin), y as x. Parameters: count = tokens · heads · units,
// heads, units = head_dim - pairs, pairs, step, gap; offset and three strides of x, table and y. Pair i of a head is (i · step, i · step +
// gap); elements behind the pairs are copied. A lane takes a pair or a copied element.
[[nodiscard]] ir::Kernel rope(DType dtype, const DeviceCaps& caps);

}  // namespace wick::kernels
