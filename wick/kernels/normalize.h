// Functions of the rows of a matrix: softmax and norms.
#pragma once

#include "wick/ir/kernel.h"
#include "wick/kernels/row_walk.h"
#include "wick/layout/dtype.h"
#include "wick/op/device_caps.h"

namespace wick::kernels {

// All compute in compute_type(dtype), take the parameters of a RowWalk whose rows are one part each, and then first: y has row-major rows
// from there on.

// Buffers x, y: y = e^(x - max) / Σ e^(x - max), or the logarithm of it.
[[nodiscard]] ir::Kernel softmax(DType dtype, bool log, RowLanes lanes, const DeviceCaps& caps);
// Buffers x, weight (of the compute type), y: y = x / √(mean(x²) + epsilon) · weight. Parameters weight_first, epsilon (f32). Norms may be
// of another dtype than x, `result`, of one compute type with it.
[[nodiscard]] ir::Kernel rms_norm(DType dtype, DType result, RowLanes lanes, const DeviceCaps& caps);
// Buffers x, y, weight (of the compute type), sum, norm: sum = x + y, norm = sum / √(mean(sum²) + epsilon) · weight. y, sum and norm have
// row-major rows. Parameters, in the place of first: y_first, weight_first, sum_first, norm_first, epsilon (f32). With a width of 4 columns
// and places count quads, of a dtype of at most four bytes.
[[nodiscard]] ir::Kernel add_rms_norm(DType dtype, DType result, uint32_t width, RowLanes lanes, const DeviceCaps& caps);
// The same with quads of f32, of which each lane of a group keeps up to `held` between the sum and the norm: rows of one part, of at most
// held · group_size quads.
[[nodiscard]] ir::Kernel add_rms_norm_held(DType result, uint32_t held, RowLanes lanes, const DeviceCaps& caps);
inline constexpr uint32_t kMaxHeldQuads = 8;
// Buffers x, weight, bias (of the compute type), y: y = (x - mean) / √(variance + epsilon) · weight + bias. Parameters weight_first,
// bias_first, epsilon (f32).
[[nodiscard]] ir::Kernel layer_norm(DType dtype, RowLanes lanes, const DeviceCaps& caps);

}  // namespace wick::kernels
