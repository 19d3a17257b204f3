#include "wick/tensor/ops/launchers/row_view.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/ops/dispatch.h"

namespace wick::launchers {
namespace {

struct Dimension {
  int64_t extent;
  int64_t stride;
};

// Dimensions [begin, end) without extents of 1, neighbours that are stepped through evenly as one.
std::vector<Dimension> merged(const Layout& layout, int begin, int end) {
  std::vector<Dimension> dimensions;
  for (int dim = begin; dim < end; ++dim) {
    const Dimension next{layout.shape()[dim], layout.stride(dim)};
    if (next.extent == 1) continue;
    if (!dimensions.empty() && dimensions.back().stride == next.stride * next.extent) {
      dimensions.back() = {dimensions.back().extent * next.extent, next.stride};
    } else {
      dimensions.push_back(next);
    }
  }
  return dimensions;
}

bool place_rows(RowView& view, const Layout& layout, int dims) {
  const int kept = layout.rank() - dims;
  const std::vector<Dimension> outer = merged(layout, 0, kept), inner = merged(layout, kept, layout.rank());
  if (outer.size() > 2 || inner.size() > 1) return false;
  view.offset = layout.offset();
  view.columns = view.part = inner.empty() ? 1 : inner[0].extent;
  view.step = inner.empty() ? 1 : inner[0].stride;
  view.rows = layout.elements() / view.columns;
  if (!outer.empty()) {
    view.extent = outer.back().extent;
    view.inner_stride = outer.back().stride;
    view.outer_stride = outer.size() == 2 ? outer[0].stride : 0;
  }
  return true;
}

}  // namespace

Contiguous contiguous(Runtime& runtime, const Operand& x) {
  if (x.layout->is_contiguous()) return {nullptr, x.buffer, *x.layout};
  Contiguous result{runtime.allocate(static_cast<size_t>(storage_bytes(x.dtype, x.layout->elements())), Lifetime::transient), nullptr,
                    Layout(x.layout->shape())};
  result.buffer = result.copy.get();
  const Operand target{result.copy.get(), x.dtype, &result.layout};
  const OpFunction copy = implementation(runtime, OpId::copy, 0, x.dtype);
  WICK_ASSERT(copy != nullptr);
  copy({OpId::copy, nullptr, {&x, 1}, {&target, 1}, &runtime});
  return result;
}

void RowView::cut(int64_t wanted) {
  part = (columns + wanted - 1) / wanted;
  parts = (columns + part - 1) / part;
}

void RowView::append(Arguments& arguments) const {
  arguments.size(rows)
      .size(columns)
      .size(offset)
      .size(extent)
      .stride(outer_stride)
      .stride(inner_stride)
      .stride(step)
      .size(parts)
      .size(part);
}

RowView rows_of(Runtime& runtime, const Operand& x, int dims) {
  check_range(x);
  RowView view;
  view.buffer = x.buffer;
  if (place_rows(view, *x.layout, dims)) return view;
  view.source = contiguous(runtime, x);
  view.buffer = view.source.buffer;
  const bool placed = place_rows(view, view.source.layout, dims);
  WICK_ASSERT(placed);
  return view;
}

kernels::RowLanes lanes_for(const RowView& rows) {
  constexpr int64_t kShort = 32, kMany = 4096;
  const bool across = rows.step != 1 && rows.rows >= kMany;
  return rows.part <= kShort || across ? kernels::RowLanes::one : kernels::RowLanes::group;
}

ir::Grid row_grid(const Program& program, const RowView& rows, kernels::RowLanes lanes, const DeviceCaps& caps) {
  const int64_t count = rows.rows * rows.parts;
  if (lanes != kernels::RowLanes::one) return group_grid(program, count, caps);
  return kernels::groups_for(program.kernel(), static_cast<uint64_t>(count), caps);
}

}  // namespace wick::launchers
