// Matrix products.
#pragma once

#include "ir/device_caps.h"
#include "ir/kernel.h"

namespace wick::kernels {

// Buffers a [m, k], b [k, n], c [m, n] of f32, row by row. Parameters m, n, k. Grid: ⌈n / 64⌉ × ⌈m / 64⌉. Each group computes 64 × 64
// elements, a lane 4 × 4 of them, from slices of a and b in shared memory. Needs groups of 256 lanes.
[[nodiscard]] ir::Kernel matmul_f32(const DeviceCaps& caps);

// Buffers a [m, k], b [k, n] of f16, c [m, n] of f32, row by row; m and n multiples of tile_block(shape), k of the tile's k. Parameters m,
// n, k. Grid: n / block columns × m / block rows. Each subgroup adds up 2 × 2 matrix tiles.
[[nodiscard]] ir::Kernel matmul_tiles(const TileShape& shape, uint32_t subgroup_size);
// Rows and columns that one group computes: 4 × the tile's.
[[nodiscard]] constexpr TileShape tile_block(const TileShape& shape) { return {4 * shape.m, 4 * shape.n, shape.k}; }

}  // namespace wick::kernels
