// Attention over a cache of keys and values.
#pragma once

#include "wick/ir/kernel.h"
#include "wick/kernels/weight_rows.h"
#include "wick/op/device_caps.h"

namespace wick::kernels {

// Rows of queries: row r is token r / group and head r % group of those `group` heads that share one head of the cache. A row sees
// positions 0 … past + token.
struct AttentionForm {
  DType cache = DType::f16;
  RowAccess access = RowAccess::elements;  // to keys and values
  uint32_t rows = 1;                       // that a group of lanes works on side by side: each key and value is read once for all
  uint32_t columns = 1;                    // of the output in a lane: enough for the head's width
  bool splits = false;                     // several groups share the positions, and attention_join puts their parts together
};

// Buffers q, k, v (of blocks each with its parameters), out f32 and, with splits, stats f32. Parameters: width; q_offset (q is [tokens,
// heads, width]); k_offset, k_head, k_position, v_offset, v_head, v_position, where heads and positions of the cache lie, counted in
// elements, of blocks in sixteens; group, heads, past, rows (tokens · group); split_length, which `lanes` of the group divide; scale (f32);
// out_offset. Grid: ⌈rows / form.rows⌉ × heads of the cache × splits.
// out: softmax(scale · q·kᵀ) · v as [tokens, heads, width]; with splits, for each of its rows and each split s, stats = (the largest score,
// Σ e^(score - largest)) and out = Σ e^(score - largest) · v, as [tokens, heads, splits, 2] and [tokens, heads, splits, width].
[[nodiscard]] ir::Kernel attention(const AttentionForm& form, const DeviceCaps& caps);
[[nodiscard]] uint32_t attention_lanes(const DeviceCaps& caps);

// Buffers parts, stats, out. Parameters width, splits, out_offset. Grid: rows of the output, over two dimensions if need be.
[[nodiscard]] ir::Kernel attention_join(const DeviceCaps& caps);

}  // namespace wick::kernels
