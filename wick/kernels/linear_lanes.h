// Products of a few to some hundred tokens with the rows of a weight, which is read once for up to 64 of them: each lane unpacks its part
// of a row in registers, as the left operand of matrix tiles that lanes set (ir::kLaneTile). Both operands are rounded to f16, sums are in
// f32.
#pragma once

#include <optional>
#include <span>

#include "wick/ir/kernel.h"
#include "wick/kernels/lane_words.h"
#include "wick/kernels/linear.h"
#include "wick/op/device_caps.h"

namespace wick::kernels {

// How a group shares a product out.
struct LaneGroup {
  uint32_t token_tiles = 1;      // of eight tokens: 1, 2, 4 or 8
  uint32_t row_tiles = 1;        // of sixteen rows, of each subgroup; of a gated product 2: one of the gate's rows and one of the other's
  uint32_t row_subgroups = 1;    // one below the other
  uint32_t depth_subgroups = 1;  // that share the columns
  // Quads of columns whose activations the group reads once, into shared memory, while it multiplies those before them; 0: each subgroup
  // reads them for itself. A chunk has an even number of times as many, and a lane moves whole vectors: see staged_quads_of.
  uint32_t staged_quads = 0;

  [[nodiscard]] uint32_t lanes() const { return ir::kLaneTileLanes * row_subgroups * depth_subgroups; }
  [[nodiscard]] uint32_t rows(bool gated) const { return 16 * row_subgroups * (gated ? 1 : row_tiles); }
  [[nodiscard]] uint32_t tokens() const { return 8 * token_tiles; }
  // Vectors of four words in shared memory at a time, of which there are two halves.
  [[nodiscard]] uint32_t staged_vectors() const { return ir::kLaneTileLanes * depth_subgroups * token_tiles * staged_quads; }
  [[nodiscard]] uint64_t shared_bytes() const;
};
// The staged_quads of a group for such columns on a device with so much shared memory; 0: none.
[[nodiscard]] uint32_t staged_quads_of(const LaneGroup& group, const LaneColumns& columns, const DeviceCaps& caps);

// For weights with `rows` rows in all; none where the device, the form or the columns do not allow it. Not of experts.
[[nodiscard]] std::optional<LaneGroup> lane_group_of(const LinearForm& form, int64_t rows, int64_t columns, int64_t tokens,
                                                     const DeviceCaps& caps);

// The activations as f16 in the order of LaneColumns: for each tile of eight tokens, chunk of columns, quad and lane l four words, of token
// l / 4 and the columns of lane l % 4 of four. Zeros beyond the last token; what f16 does not hold becomes its largest number. Buffers x of
// f32, halves of u32. Parameters: x_offset (a multiple of four), columns, tokens, count: four-word vectors, 32 · quads · chunks · tiles.
// Grid: groups_for(count).
[[nodiscard]] ir::Kernel halves_by_lane(const LaneColumns& columns, const DeviceCaps& caps);

// rms_norm of rows of f32 as halves_by_lane leaves it, in each of those orders, which fit into the columns: a group has a row, of which
// each lane keeps `held` times eight columns. Buffers x, weight, a result of u32 for each order. Parameters: x_offset and weight_offset
// (multiples of four), columns, tokens, epsilon. Grid: a group for each row of the tiles of eight tokens.
[[nodiscard]] ir::Kernel norm_by_lane(std::span<const LaneColumns> orders, uint32_t held, const DeviceCaps& caps);
// The `held` for rows with that many columns; 0: too many.
[[nodiscard]] uint32_t norm_by_lane_held(int64_t columns, const DeviceCaps& caps);

// Buffers w (and its codebook, and "up" if gated, or the further weights), halves, the biases, the residual, y (and the further results) of
// f32. Parameters: those of WeightRows; chunks (a multiple of depth_subgroups), tokens, rows, y_offset; rows and y_offset of each further
// weight; residual_offset. Grid: Σ ⌈rows / group rows⌉ × ⌈tokens / group tokens⌉. Not of experts, and without a norm.
[[nodiscard]] ir::Kernel linear_lanes(const LinearForm& form, const LaneGroup& group);

}  // namespace wick::kernels
