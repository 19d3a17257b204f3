// Attention of many rows of queries over a cache of keys and values, by matrix tiles (Dao et al. 2022: blocks of keys one after the other,
// with a running softmax). Queries, keys, values and weights are rounded to f16, sums are in f32.
#pragma once

#include <optional>

#include "wick/ir/kernel.h"
#include "wick/kernels/attention.h"
#include "wick/layout/dtype.h"
#include "wick/op/device_caps.h"

namespace wick::kernels {

// How a device's tiles are used: each subgroup works on tile.n rows.
struct AttentionTiles {
  TileShape tile;
  uint32_t subgroups = 1, subgroup_size = 32;

  [[nodiscard]] uint32_t rows() const { return subgroups * tile.n; }
  [[nodiscard]] uint32_t lanes() const { return subgroups * subgroup_size; }
};
inline constexpr uint32_t kAttentionKeys = 32;  // positions at a time

// None where the device has no tiles, or they do not fit its groups and shared memory, the heads' width, or the cache: f16 and bf16 are
// read by RowAccess::vectors, q8_0 by blocks.
[[nodiscard]] std::optional<AttentionTiles> attention_tiles_of(const AttentionForm& form, int64_t width, const DeviceCaps& caps);

// Buffers, parameters and results of attention(), of heads of that width. Of the form `rows` and `columns` do not count. Grid: ⌈rows /
// tiles.rows()⌉ × heads of the cache × splits. Positions of the cache lie one behind the other, at no negative distance. Of the values of
// positions that only some rows of a group see, infinities and NaNs reach the others too.
[[nodiscard]] ir::Kernel attention_tiles(const AttentionForm& form, uint32_t width, const AttentionTiles& tiles);

}  // namespace wick::kernels
