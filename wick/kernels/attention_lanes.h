// Attention over a cache of f16 by matrix tiles that lanes set (ir::kLaneTile): keys and values go into registers in the order of the
// tiles' operands, from memory or, of many rows, by way of shared memory, and scores, weights and sums stay there (Dao et al. 2022).
// Queries and weights are rounded to f16, sums are in f32.
#pragma once

#include <optional>

#include "wick/ir/kernel.h"
#include "wick/kernels/attention.h"
#include "wick/op/device_caps.h"

namespace wick::kernels {

// How a group shares out: each subgroup has sixteen rows.
struct AttentionLanes {
  uint32_t row_subgroups = 1;
  uint32_t key_subgroups = 1;  // that share the positions, 32 at a time
  // The group reads keys and values once, into shared memory, a step ahead of its products; else each subgroup reads them for itself. Where
  // there is one key subgroup.
  bool staged = false;

  [[nodiscard]] uint32_t rows() const { return 16 * row_subgroups; }
  [[nodiscard]] uint32_t lanes() const { return ir::kLaneTileLanes * row_subgroups * key_subgroups; }
  [[nodiscard]] uint32_t step() const { return kStep * key_subgroups; }

  static constexpr uint32_t kStep = 32;  // positions of a subgroup at a time
};

// For sequences of so many rows of queries on the average and at most so many positions: few rows share the positions out, of more each
// subgroup has its own, and keys and values are staged. None where the device has no such tiles or not the shared memory, and of other
// caches than RowAccess::vectors of f16, heads of other widths than 64 and 128, splits of fixed length, and blocks of a cache that are no
// multiple of 32 positions.
[[nodiscard]] std::optional<AttentionLanes> attention_lanes_of(const AttentionForm& form, int64_t width, int64_t block_size, int64_t rows,
                                                               int64_t positions, const DeviceCaps& caps);

// Buffers, parameters and results of attention(), of heads of that width; q_offset and out_offset are multiples of four. The form's `rows`
// and `columns` do not count. Grid: ⌊rows / lanes.rows()⌋ + sequences, of one sequence ⌈rows / lanes.rows()⌉ × heads of the cache × splits.
// Infinities and NaNs of values at positions that only some rows of a group see reach the others too.
[[nodiscard]] ir::Kernel attention_by_lanes(const AttentionForm& form, uint32_t width, const AttentionLanes& lanes);

}  // namespace wick::kernels
