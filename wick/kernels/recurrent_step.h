// One position of linear attention: states change and are read in one pass.
#pragma once

#include "wick/ir/kernel.h"
#include "wick/op/device_caps.h"
#include "wick/op/op.h"

namespace wick::kernels {

// Columns of a state that a group takes.
[[nodiscard]] uint32_t recurrent_columns(const DeviceCaps& caps);

// Buffers query, key [sequences, key_heads, k], value [sequences, heads, v], decay [sequences, heads, decays], rate [sequences, heads], f32
// and row-major; places: from and to [sequences]; states f32 [slots, heads · k · v]; y [sequences, heads, v]. Parameters: groups =
// sequences · heads · ⌈v / recurrent_columns⌉, heads, key_heads, keys = k, values = v, decays, 1 or k; where query, key, value, decay,
// rate, from, to and states begin; a slot's stride; where y begins. Grid: a group for each recurrent_columns columns of a head's state.
[[nodiscard]] ir::Kernel recurrent_step(RecurrentStepParams params, const DeviceCaps& caps);

}  // namespace wick::kernels
