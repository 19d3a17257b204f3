// Attention over a cache of keys and values.
#pragma once

#include "ir/device_caps.h"
#include "ir/kernel.h"

namespace wick::kernels {

// One new token over the first `length` positions of the cache, in splits that groups work on side by side: for each head and each of its
// splits of split_length positions (the last may be shorter) largest = max(scale · q·k), sum = Σ exp(scale · q·k - largest) and the sums of
// exp(scale · q·k - largest) · v. Buffers q [heads, head_dim] f32; keys, values [kv_heads, capacity, head_dim] f16 as u32 words, two
// elements each; sums [heads, splits, head_dim] f32, stats [heads, splits, 2] f32 (largest, sum). Parameters length (at least 1), capacity,
// heads_per_kv (query heads that share one of the cache, a multiple of `heads`), split_length, scale (f32). Grid: heads of the model /
// `heads` × splits. A group reads the cache once for its `heads` heads. head_dim is a multiple of 8, and an eighth of it divides the
// subgroup, or the group where there are none.
[[nodiscard]] ir::Kernel attention_decode(uint32_t head_dim, uint32_t heads, const DeviceCaps& caps);

// softmax(scale · q·Kᵀ) · V from what attention_decode left. Buffers sums, stats, out [heads, head_dim] f32. Parameter splits. Grid: heads.
[[nodiscard]] ir::Kernel attention_join(uint32_t head_dim, const DeviceCaps& caps);

}  // namespace wick::kernels
