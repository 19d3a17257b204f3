// Operands as rows of evenly spaced elements, as kernels::RowWalk takes them.
#pragma once

#include <memory>

#include "wick/device/op_call.h"
#include "wick/kernels/row_walk.h"
#include "wick/tensor/ops/launchers/launcher.h"

namespace wick::launchers {

// An operand in row-major order: itself, or a copy.
struct Contiguous {
  std::unique_ptr<Buffer> copy;
  const Buffer* buffer = nullptr;
  Layout layout;
};
[[nodiscard]] Contiguous contiguous(Runtime& runtime, const Operand& x);

struct RowView {
  Contiguous source;  // keeps a copy alive
  const Buffer* buffer = nullptr;
  int64_t rows = 1, columns = 1;
  int64_t offset = 0, extent = 1, outer_stride = 0, inner_stride = 0, step = 1;
  int64_t parts = 1, part = 1;

  // Cuts each row into about so many parts.
  void cut(int64_t wanted);
  void append(Arguments& arguments) const;
};

// The last `dims` dimensions as the columns, of a copy where they, or those before them, take more strides than a RowWalk has.
[[nodiscard]] RowView rows_of(Runtime& runtime, const Operand& x, int dims);
// A lane for each row where rows are short, or many that lie side by side.
[[nodiscard]] kernels::RowLanes lanes_for(const RowView& rows);
[[nodiscard]] ir::Grid row_grid(const Program& program, const RowView& rows, kernels::RowLanes lanes, const DeviceCaps& caps);

}  // namespace wick::launchers
