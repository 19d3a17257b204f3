// Attention over a cache of keys and values.
#pragma once

#include "wick/ir/kernel.h"
#include "wick/kernels/weight_rows.h"
#include "wick/op/device_caps.h"

namespace wick::kernels {

// Rows of queries: row r of a sequence is its token r / group and head r % group of those `group` heads that share one head of the cache.
struct AttentionForm {
  DType cache = DType::f16;
  RowAccess access = RowAccess::elements;  // to keys and values
  uint32_t rows = 1;                       // that a group of lanes works on side by side: each key and value is read once for all
  uint32_t columns = 1;                    // of the output in a lane: enough for the wider of keys and values
  bool splits = false;                     // several groups share the positions, and attention_join puts their parts together
  bool fixed = false;                      // splits begin at multiples of their length, whichever rows share a block
  bool paged = false;                      // the table has several blocks a sequence
  // AttentionParams'.
  bool causal = true, window = false, chunk = false, softcap = false, slopes = false, mask = false;
  // Kernels that write results: attention_join's if there are splits. halves: results of f16, of attention_by_lanes and attention_join.
  bool sinks = false, logarithms = false, halves = false;

  // All but rows and columns as bits.
  [[nodiscard]] uint32_t variant() const;
};

// How many positions each of so many splits takes: a multiple of `step`, and not so few that they are not worth the joining.
[[nodiscard]] constexpr uint32_t attention_split_length(uint32_t positions, uint32_t splits, uint32_t step) {
  constexpr uint32_t kFewest = 256;
  const uint32_t share = ((positions + splits - 1) / splits + step - 1) / step * step, fewest = (kFewest + step - 1) / step * step;
  return share > fewest ? share : fewest;
}

// The same of splits that have one length for all batches.
[[nodiscard]] constexpr uint32_t attention_fixed_length(uint32_t step) { return attention_split_length(1, 1, step); }

// Buffers q, k, v (of blocks each with its parameters), bounds (the starts and the lengths), table (AttentionParams says what they hold);
// slopes, mask; out f32; without splits sinks and logarithms; each of these if the form names it. Parameters: width, value_width; q_offset
// (q is [tokens, heads, width]); k_offset, k_head, k_slot, v_offset, v_head, v_slot, where heads and slots of the cache lie, counted in
// elements, of blocks in sixteens; group, heads, scale (f32), out_offset, tokens, sequences, search_steps (the bits of sequences - 1),
// starts_offset, lengths_offset, table_offset, block_slots (of a block of the cache); with splits, stats_offset; if paged, table_row
// (blocks of a sequence) and block_size; then those of the form: window, chunk, softcap (f32), slopes_offset, mask_offset, mask_head,
// mask_token, mask_position, sinks_offset, logarithms_offset. Grid: ⌊tokens · group / form.rows⌋ + sequences, of one sequence ⌈tokens ·
// group / form.rows⌉ × heads of the cache × splits. out: [tokens, heads, value_width]; with splits, for each of its rows and each split s
// of what the row's block sees, Σ e^(score - largest) · v as [tokens, heads, splits, value_width] and, from stats_offset on, (the largest
// score, Σ e^(score - largest)) as [tokens, heads, splits, 2].
[[nodiscard]] ir::Kernel attention(const AttentionForm& form, const DeviceCaps& caps);
[[nodiscard]] uint32_t attention_lanes(const DeviceCaps& caps);

// Buffers parts (with their stats), out (f32 or f16), sinks, logarithms. Parameters width, splits, heads, stats_offset, out_offset,
// sinks_offset, logarithms_offset. Grid: rows of the output, over two dimensions if need be.
[[nodiscard]] ir::Kernel attention_join(DType result, bool sinks, bool logarithms, const DeviceCaps& caps);

}  // namespace wick::kernels
