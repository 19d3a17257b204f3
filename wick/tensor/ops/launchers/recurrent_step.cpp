#include "wick/kernels/recurrent_step.h"

#include "wick/base/fail.h"
#include "wick/tensor/ops/launchers/launcher.h"
#include "wick/tensor/ops/launchers/launchers.h"

namespace wick::launchers {

void recurrent_step(const OpCall& call) {
  Runtime& runtime = *call.runtime;
  const Operand &key = call.inputs[1], &value = call.inputs[2], &decay = call.inputs[3], &states = call.outputs[0], &y = call.outputs[1];
  const RecurrentStepParams params = call.parameters<RecurrentStepParams>();
  const Shape &values = value.layout->shape(), &keys = key.layout->shape();
  if (keys[2] > kernels::kMaxRecurrentKeys) {
    fail(ErrorCode::unsupported, "recurrent_step: states of {} rows; devices with kernels take at most {}", keys[2],
         kernels::kMaxRecurrentKeys);
  }
  const kernels::RecurrentShape shape{.keys = static_cast<uint32_t>(keys[2]),
                                      .columns = kernels::recurrent_columns(values[2], runtime.caps()),
                                      .decays_by_key = decay.layout->shape()[2] > 1};
  const int64_t sequences = call.inputs[5].layout->shape()[0], groups = sequences * values[1] * groups_along(values[2], shape.columns);
  check_range(states);
  const std::span<const Operand> rows = call.inputs.first(5);
  const InOneBuffer places(runtime, call.inputs[5], call.inputs[6]);
  Arguments arguments;
  for (const Operand& row : rows) arguments.buffer(row);
  arguments.buffer(places.buffer()).buffer(states).buffer(y);
  arguments.size(groups).size(values[0] / sequences).size(values[1]).size(keys[1]).size(values[2]);
  for (const Operand& row : rows) arguments.size(first_of(row));
  arguments.size(places.first()).size(places.second()).size(states.layout->offset()).stride(states.layout->stride(0)).size(first_of(y));
  const Program& program = runtime.program(
      {"recurrent_step", {params.delta ? 1U : 0U, params.interleaved ? 1U : 0U, shape.keys, shape.columns, shape.decays_by_key ? 1U : 0U}},
      [&] { return kernels::recurrent_step(params, shape, runtime.caps()); });
  launch(runtime, program, group_grid(program, groups, runtime.caps()), arguments);
}

}  // namespace wick::launchers
