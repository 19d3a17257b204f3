// Positions of linear attention: states change and are read in one pass.
#pragma once

#include "wick/ir/kernel.h"
#include "wick/op/device_caps.h"
#include "wick/op/op.h"

namespace wick::kernels {

// Rows of a state that a kernel takes at most: as many as a group has shared memory for.
inline constexpr uint32_t kMaxRecurrentKeys = 512;

// The shape that a kernel is built for: rows of a state, columns of it that a group takes, and whether each row decays by itself.
struct RecurrentShape {
  uint32_t keys, columns;
  bool decays_by_key;
};
// Columns for a group, of states of so many.
[[nodiscard]] uint32_t recurrent_columns(int64_t values, const DeviceCaps& caps);

// Buffers query, key [rows, key_heads, k], value [rows, heads, v], decay [rows, heads, 1 or k], rate [rows, heads], f32 and row-major;
// places: from and to [sequences]; states f32 [slots, heads · k · v]; y [rows, heads, v]. Parameters: groups = sequences · heads ·
// ⌈v / columns⌉, positions = rows / sequences, heads, key_heads, values = v; where query, key, value, decay, rate, from, to and states
// begin; a slot's stride; where y begins. Grid: a group for the columns of each head's state.
[[nodiscard]] ir::Kernel recurrent_step(RecurrentStepParams params, const RecurrentShape& shape, const DeviceCaps& caps);

}  // namespace wick::kernels
