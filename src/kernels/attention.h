// Attention over a cache of keys and values.
#pragma once

#include "ir/device_caps.h"
#include "ir/kernel.h"

namespace wick::kernels {

// One new token: for each head softmax(scale · q·Kᵀ) · V over the first `length` positions of the cache.
// Buffers q [heads, head_dim] f32; keys, values [kv_heads, capacity, head_dim] f16 as u32 words, two elements each; out [heads, head_dim]
// f32. Parameters length (at least 1), capacity, heads_per_kv (query heads that share one of the cache), scale (f32). Grid: heads. head_dim
// is a multiple of 8, and half of it a power of two or of a divisor of the group.
[[nodiscard]] ir::Kernel attention_decode(uint32_t head_dim, const DeviceCaps& caps);

}  // namespace wick::kernels
