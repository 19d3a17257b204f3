// Matrix products.
#pragma once

#include "ir/device_caps.h"
#include "ir/kernel.h"

namespace wick::kernels {

// Buffers a [m, k], b [k, n], c [m, n] of f32, row by row. Parameters m, n, k. Grid: ⌈n / 64⌉ × ⌈m / 64⌉. Each group computes 64 × 64
// elements, a lane 4 × 4 of them, from slices of a and b in shared memory. Needs groups of 256 lanes.
[[nodiscard]] ir::Kernel matmul_f32(const DeviceCaps& caps);

// Buffers a [m, k], b [k, n] of f16 as u32 words, two elements each, c [m, n] of f32, row by row; m, n and k multiples of
// tile_block(shape). Parameters m, n, k. Grid: n / block columns × m / block rows. Each of four subgroups adds up 4 × 4 matrix tiles.
[[nodiscard]] ir::Kernel matmul_tiles(const TileShape& shape, uint32_t subgroup_size);
// Rows and columns that one group computes, 8 × the tile's, and the depth that it holds in shared memory at a time, 2 × the tile's.
[[nodiscard]] constexpr TileShape tile_block(const TileShape& shape) { return {8 * shape.m, 8 * shape.n, 2 * shape.k}; }

}  // namespace wick::kernels
