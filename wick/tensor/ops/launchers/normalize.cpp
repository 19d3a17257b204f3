#include "wick/kernels/normalize.h"

#include <algorithm>
#include <array>
#include <bit>

#include "wick/tensor/ops/launchers/launchers.h"
#include "wick/tensor/ops/launchers/row_view.h"

namespace wick::launchers {
namespace {

using Make = std::function<ir::Kernel(kernels::RowLanes lanes)>;

// Rows that leave most of the device idle get all the lanes that a group can have; where results are deterministic, so do long rows always.
kernels::RowLanes lanes_of(const RowView& rows, const DeviceCaps& caps, bool deterministic) {
  constexpr int64_t kLong = 2048;
  const kernels::RowLanes lanes = lanes_for(rows);
  const bool few = (deterministic || 2 * rows.rows < caps.compute_units) && rows.columns >= kLong;
  return lanes == kernels::RowLanes::group && few ? kernels::RowLanes::widest : lanes;
}

// How many quads of a row of that many each lane of its group would keep, a power of two; 0: too many, or a lane has a row alone.
uint32_t held_quads(const RowView& rows, kernels::RowLanes lanes, const DeviceCaps& caps) {
  if (lanes == kernels::RowLanes::one || rows.parts != 1) return 0;
  const int64_t group = kernels::row_options(lanes, caps).group_size, held = (rows.columns + group - 1) / group;
  return held <= kernels::kMaxHeldQuads ? std::bit_ceil(static_cast<uint32_t>(held)) : 0;
}

// Launches a kernel over the rows of the first input: its buffers are the inputs, of which weights are row-major, and the output.
void launch_rows(const OpCall& call, ProgramKey key, const Make& make, const Arguments& others, bool deterministic = false) {
  Runtime& runtime = *call.runtime;
  const Operand& y = call.outputs[0];
  const RowView rows = rows_of(runtime, call.inputs[0], 1);
  const kernels::RowLanes lanes = lanes_of(rows, runtime.caps(), deterministic);
  key.numbers[key.count++] = static_cast<uint32_t>(lanes);
  const Program& program = runtime.program(key, [&] { return make(lanes); });
  Arguments arguments;
  arguments.buffer(*rows.buffer);
  for (const Operand& weight : call.inputs.subspan(1)) arguments.buffer(weight);
  arguments.buffer(y);
  rows.append(arguments);
  arguments.size(first_of(y));
  for (const Operand& weight : call.inputs.subspan(1)) arguments.size(first_of(weight));
  for (const uint32_t bits : others.parameters()) arguments.bits(bits);
  launch(runtime, program, row_grid(program, rows, lanes, runtime.caps()), arguments);
}

}  // namespace

void softmax(const OpCall& call) {
  const DType dtype = call.inputs[0].dtype;
  const bool log = call.parameters<SoftmaxParams>().log;
  launch_rows(call, {"softmax", {number_of(dtype), log ? 1U : 0U}},
              [&](kernels::RowLanes lanes) { return kernels::softmax(dtype, log, lanes, call.runtime->caps()); }, {});
}

void rms_norm(const OpCall& call) {
  const DType dtype = call.inputs[0].dtype, result = call.outputs[0].dtype;
  launch_rows(
      call, {"rms_norm", {number_of(dtype), number_of(result)}},
      [&](kernels::RowLanes lanes) { return kernels::rms_norm(dtype, result, lanes, call.runtime->caps()); },
      Arguments().number(call.parameters<RmsNormParams>().epsilon), call.parameters<RmsNormParams>().deterministic);
}

void add_rms_norm(const OpCall& call) {
  const Operand &x = call.inputs[0], &y = call.inputs[1], &weight = call.inputs[2], &sum = call.outputs[0], &norm = call.outputs[1];
  Runtime& runtime = *call.runtime;
  const std::array<const Operand*, 4> others{&y, &weight, &sum, &norm};
  // All operands are row-major. Quads keep more of a long row under way at once.
  const auto is_whole = [](const Operand* operand) { return first_of(*operand) % 4 == 0; };
  const bool quads =
      x.dtype != DType::f64 && x.layout->shape().last() % 4 == 0 && is_whole(&x) && std::all_of(others.begin(), others.end(), is_whole);
  const int64_t width = quads ? 4 : 1;
  RowView rows = rows_of(runtime, x, 1);
  const kernels::RowLanes lanes = lanes_of(rows, runtime.caps(), call.parameters<RmsNormParams>().deterministic);
  for (int64_t* number : {&rows.columns, &rows.part, &rows.offset, &rows.inner_stride, &rows.outer_stride}) *number /= width;
  const uint32_t held = quads && x.dtype == DType::f32 ? held_quads(rows, lanes, runtime.caps()) : 0;
  const auto columns = static_cast<uint32_t>(width), how = static_cast<uint32_t>(lanes);
  const Program& program = held > 0 ? runtime.program({"add_rms_norm_held", {number_of(norm.dtype), held, how}},
                                                      [&] { return kernels::add_rms_norm_held(norm.dtype, held, lanes, runtime.caps()); })
                                    : runtime.program({"add_rms_norm", {number_of(x.dtype), number_of(norm.dtype), columns, how}}, [&] {
                                        return kernels::add_rms_norm(x.dtype, norm.dtype, columns, lanes, runtime.caps());
                                      });
  Arguments arguments;
  arguments.buffer(*rows.buffer);
  for (const Operand* operand : others) arguments.buffer(*operand);
  rows.append(arguments);
  for (const Operand* operand : others) arguments.size(first_of(*operand) / width);
  arguments.number(call.parameters<RmsNormParams>().epsilon);
  launch(runtime, program, row_grid(program, rows, lanes, runtime.caps()), arguments);
}

void layer_norm(const OpCall& call) {
  const DType dtype = call.inputs[0].dtype;
  launch_rows(
      call, {"layer_norm", {number_of(dtype)}},
      [&](kernels::RowLanes lanes) { return kernels::layer_norm(dtype, lanes, call.runtime->caps()); },
      Arguments().number(call.parameters<LayerNormParams>().epsilon));
}

}  // namespace wick::launchers
