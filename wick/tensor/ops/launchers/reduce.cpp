#include "wick/kernels/reduce.h"

#include <algorithm>

#include "wick/tensor/ops/launchers/launchers.h"
#include "wick/tensor/ops/launchers/row_view.h"

namespace wick::launchers {
namespace {

using kernels::RowLanes;

// Long rows are cut where there are too few of them to keep a device busy; their parts are put together by a second launch.
void cut_long_rows(RowView& rows, const DeviceCaps& caps) {
  constexpr int64_t kPart = 4096, kGroupsPerUnit = 8, kGroups = 64;
  const int64_t wanted = std::max<int64_t>(kGroups, kGroupsPerUnit * caps.compute_units);
  if (rows.columns >= 2 * kPart && rows.rows < wanted)
    rows.cut(std::min({rows.columns / kPart, (wanted + rows.rows - 1) / rows.rows, int64_t{1024}}));
}

// The rows of a row-major buffer of what was found in each part.
RowView parts_of(const RowView& rows, const Buffer& found) {
  RowView view;
  view.buffer = &found;
  view.rows = view.extent = rows.rows;
  view.columns = view.part = view.inner_stride = rows.parts;
  return view;
}

// What sums are made in, as a dtype.
DType sum_dtype(DType dtype) {
  if (is_float(dtype)) return dtype == DType::f64 ? DType::f64 : DType::f32;
  if (dtype == DType::u8) return DType::u32;
  return dtype == DType::i8 || dtype == DType::i16 ? DType::i32 : dtype;
}

void launch_sum(Runtime& runtime, const RowView& rows, DType in, const Buffer& y, DType out, int64_t first, int64_t divisor) {
  const RowLanes lanes = lanes_for(rows);
  const Program& program =
      runtime.program({"reduce_sum", {static_cast<uint32_t>(in), static_cast<uint32_t>(out), static_cast<uint32_t>(lanes)}},
                      [&] { return kernels::reduce_sum(in, out, lanes, runtime.caps()); });
  Arguments arguments;
  arguments.buffer(*rows.buffer).buffer(y);
  rows.append(arguments);
  arguments.size(first);
  if (is_float(in)) arguments.size(divisor);
  launch(runtime, program, row_grid(program, rows, lanes, runtime.caps()), arguments);
}

void sum(Runtime& runtime, const RowView& rows, DType dtype, const Operand& y, int64_t divisor) {
  if (rows.parts == 1) return launch_sum(runtime, rows, dtype, *y.buffer, dtype, first_of(y), divisor);
  const DType between = sum_dtype(dtype);
  const auto bytes = static_cast<size_t>(storage_bytes(between, rows.rows * rows.parts));
  const std::unique_ptr<Buffer> sums = runtime.allocate(bytes, Lifetime::transient);
  launch_sum(runtime, rows, dtype, *sums, between, 0, 1);
  launch_sum(runtime, parts_of(rows, *sums), between, *y.buffer, dtype, first_of(y), divisor);
}

void launch_extreme(Runtime& runtime, const RowView& rows, const kernels::ExtremeOptions& wanted, const Buffer& y, int64_t first,
                    uint32_t mask, const Buffer* places) {
  const RowLanes lanes = lanes_for(rows);
  const uint32_t form = (wanted.gives_value ? 1U : 0U) + (wanted.chooses ? 2U : 0U);
  const Program& program = runtime.program({"reduce_extreme", {number_of(wanted.dtype), form, static_cast<uint32_t>(lanes)}},
                                           [&] { return kernels::reduce_extreme(wanted, lanes, runtime.caps()); });
  Arguments arguments;
  arguments.buffer(*rows.buffer).buffer(y);
  if (places != nullptr) arguments.buffer(*places);
  rows.append(arguments);
  arguments.size(first).bits(mask);
  launch(runtime, program, row_grid(program, rows, lanes, runtime.caps()), arguments);
}

void extreme(Runtime& runtime, RowView& rows, DType dtype, ReduceKind kind, const Operand& y) {
  const uint32_t mask = kind == ReduceKind::max || kind == ReduceKind::argmax ? 0xffffffffU : 0U;
  const bool gives_value = kind == ReduceKind::min || kind == ReduceKind::max;
  if (rows.parts == 1) return launch_extreme(runtime, rows, {dtype, gives_value, false}, *y.buffer, first_of(y), mask, nullptr);
  const std::unique_ptr<Buffer> places =
      runtime.allocate(static_cast<size_t>(rows.rows * rows.parts) * sizeof(uint32_t), Lifetime::transient);
  launch_extreme(runtime, rows, {dtype, false, false}, *places, 0, mask, nullptr);
  // The same rows, of which only the places that the parts gave are looked at.
  rows.columns = rows.part = rows.parts;
  rows.parts = 1;
  launch_extreme(runtime, rows, {dtype, gives_value, true}, *y.buffer, first_of(y), mask, places.get());
}

}  // namespace

void reduce(const OpCall& call) {
  const auto& [kind, dims] = call.parameters<ReduceParams>();
  const Operand &x = call.inputs[0], &y = call.outputs[0];
  RowView rows = rows_of(*call.runtime, x, dims);
  cut_long_rows(rows, call.runtime->caps());
  if (kind != ReduceKind::sum && kind != ReduceKind::mean) return extreme(*call.runtime, rows, x.dtype, kind, y);
  sum(*call.runtime, rows, x.dtype, y, kind == ReduceKind::mean ? rows.columns : 1);
}

}  // namespace wick::launchers
