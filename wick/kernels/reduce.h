// Sums and extremes of rows.
#pragma once

#include "wick/ir/kernel.h"
#include "wick/kernels/row_walk.h"
#include "wick/layout/dtype.h"
#include "wick/op/device_caps.h"

namespace wick::kernels {

// Buffers x, y. Parameters of a RowWalk; first; divisor, of floats. y[first + number of the part] = Σ x / divisor, in compute_type(in).
[[nodiscard]] ir::Kernel reduce_sum(DType in, DType out, RowLanes lanes, const DeviceCaps& caps);

struct ExtremeOptions {
  DType dtype{};
  bool gives_value = false;  // the element itself, else its place in the row, a u32
  bool chooses = false;      // among columns that another buffer names
};
// Buffers x (key_element), y, of the same or u32, and where it chooses places [rows, columns]: the columns to look at. Parameters of a
// RowWalk; first; mask: 0 finds the least, all ones the greatest. y[first + number of the part]: the first of the most extreme elements,
// NaN being more extreme than any.
[[nodiscard]] ir::Kernel reduce_extreme(const ExtremeOptions& wanted, RowLanes lanes, const DeviceCaps& caps);

}  // namespace wick::kernels
