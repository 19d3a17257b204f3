// Products of batches of matrices of one dtype: c[i] = a[i] · b[i], a of [m, k] and b of [k, n] in any strides, c row-major.
#pragma once

#include "wick/ir/kernel.h"
#include "wick/kernels/row_walk.h"
#include "wick/layout/dtype.h"
#include "wick/op/device_caps.h"

namespace wick::kernels {

// Buffers a, b, c. Parameters m, n, k; of a, then of b: the offset, the strides of rows and columns, and those of two dimensions of
// batches; c_offset; batch_extent, of the inner dimension of batches; first_batch, which is that of the groups whose third index is 0. Sums
// are in compute_type(dtype).

// Grid: ⌈n / block⌉ × ⌈m / block⌉ × batches. Each group computes a block of c, a lane 4 × 4 elements of it, from slices of a and b in
// shared memory.
[[nodiscard]] ir::Kernel matmul_blocks(DType dtype, const DeviceCaps& caps);
struct MatmulBlock {
  uint32_t rows, columns;
};
[[nodiscard]] MatmulBlock matmul_block(const DeviceCaps& caps);

// Each element of c by one lane, or by one group where there are few of them. Grid: m · n of those over two dimensions, × batches.
[[nodiscard]] ir::Kernel matmul_elements(DType dtype, RowLanes lanes, const DeviceCaps& caps);

// For f16: a and b as words of two elements. Grid as for matmul_blocks with tile_block. Columns are adjacent; k, n, the offsets and the
// other strides are multiples of 8. Each of four subgroups adds up 4 × 4 matrix tiles.
[[nodiscard]] ir::Kernel matmul_tiles(const TileShape& shape, uint32_t subgroup_size);
// Rows and columns that one group computes, 8 × the tile's, and the depth that it holds in shared memory at a time, 2 × the tile's.
[[nodiscard]] TileShape tile_block(const TileShape& shape);
// Whether a device's groups and shared memory are large enough for it, and its lanes share the work evenly.
[[nodiscard]] bool tiles_fit(const TileShape& shape, uint32_t subgroup_size, const DeviceCaps& caps);

}  // namespace wick::kernels
