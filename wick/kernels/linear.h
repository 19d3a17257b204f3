// Products of activations with the rows of a weight: y[token, row] = Σ over columns x[token, column] · weight[row, column], in f32.
#pragma once

#include "wick/ir/kernel.h"
#include "wick/kernels/weight_rows.h"
#include "wick/op/device_caps.h"

namespace wick::kernels {

struct LinearForm {
  DType dtype = DType::f32;
  RowAccess access = RowAccess::elements;
  // Two weights, gate and up, of one dtype and shape: y = silu(x · gate) · (x · up).
  bool gated = false;
  // Up to three weights of one dtype and layout, each with a result of its own; 1 if gated.
  uint32_t weights = 1;
};

// Few tokens: several lanes for each row, each weight read once for all tokens, of which `tokens` have room. Buffers w (and its codebook,
// and "up" if gated, or the further weights), x, y (and the further results), of f32. Parameters: those of WeightRows; x_offset, columns,
// rows, y_offset and how many tokens there are; rows and y_offset of each further weight. Grid: Σ ⌈rows / rows_per_group⌉, over two
// dimensions if need be. x and y have dense rows; of units of more than one element, x begins at a
// multiple of four.
inline constexpr uint32_t kMaxMatvecTokens = 4;
inline constexpr uint32_t kMaxMatvecWeights = 3;
[[nodiscard]] ir::Kernel matvec(const LinearForm& form, uint32_t tokens, const DeviceCaps& caps);
[[nodiscard]] uint32_t matvec_rows_per_group(const DeviceCaps& caps);

// Many tokens: blocks of block × block results, from slices of both in shared memory. Buffers and parameters as above, of one weight.
// Grid: ⌈rows / block⌉ × ⌈tokens / block⌉. Not gated.
[[nodiscard]] ir::Kernel linear_blocks(const LinearForm& form, const DeviceCaps& caps);
[[nodiscard]] uint32_t linear_block(const DeviceCaps& caps);

// y[i] = silu(gate[i]) · y[i]. Buffers gate, y of f32. Parameters count, y_offset. Grid: groups_for(count).
[[nodiscard]] ir::Kernel gate_by_silu(const DeviceCaps& caps);

}  // namespace wick::kernels
