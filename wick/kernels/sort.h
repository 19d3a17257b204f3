// Sorting of rows: keys of their elements, blocks in shared memory, runs merged through buffers.
#pragma once

#include "wick/ir/kernel.h"
#include "wick/layout/dtype.h"
#include "wick/op/device_caps.h"

namespace wick::kernels {

// Keys of one or two words (order_key.h), [rows, length]; their order says where in the row each of the sorted keys was.

// Buffers x (key_element), keys. Parameters of a StridedGrid with views "x" and "keys", which counts keys; mask: all ones turn the order
// round.
[[nodiscard]] ir::Kernel order_keys(DType dtype, uint32_t rank, const DeviceCaps& caps);

// The most keys that one group sorts.
inline constexpr uint32_t kSortBlock = 1024;
// Buffers keys, sorted, order. Parameters length, runs, logarithm, run_count. Every row is cut into `runs` runs of 2^logarithm keys, the
// last one shorter, and each is sorted, stably; run_count is that of all rows. A group takes kSortBlock / 2^logarithm runs.
[[nodiscard]] ir::Kernel sort_runs(uint32_t words, const DeviceCaps& caps);
// Buffers keys, order, merged, merged_order. Parameters count, length, run, steps. Rows of sorted runs of `run` keys become rows of sorted
// runs of 2 · run; a lane moves one key. count is that of all keys; steps halve a run to nothing: as many as `run` has bits.
[[nodiscard]] ir::Kernel merge_runs(uint32_t words, const DeviceCaps& caps);

}  // namespace wick::kernels
