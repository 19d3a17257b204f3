#include "wick/kernels/causal_conv.h"

#include "wick/tensor/ops/launchers/launcher.h"
#include "wick/tensor/ops/launchers/launchers.h"

namespace wick::launchers {

void causal_conv(const OpCall& call) {
  Runtime& runtime = *call.runtime;
  const Operand &x = call.inputs[0], &weight = call.inputs[1], &bias = call.inputs[2], &states = call.outputs[0], &y = call.outputs[1];
  const CausalConvParams params = call.parameters<CausalConvParams>();
  const Shape& shape = x.layout->shape();
  const auto kernel = static_cast<uint32_t>(weight.layout->shape()[0]);
  const int64_t sequences = call.inputs[3].layout->shape()[0], positions = shape[0] / sequences;
  const int64_t lanes = sequences * groups_along(positions, kernels::causal_conv_rows(kernel)) * shape[1];
  check_range(states);
  check_range(x);
  const InOneBuffer places(runtime, call.inputs[3], call.inputs[4]);
  Arguments arguments;
  arguments.buffer(x).buffer(weight).buffer(bias).buffer(places.buffer()).buffer(states).buffer(y);
  arguments.size(lanes).size(positions).size(shape[1]).stride(x.layout->stride(0)).size(x.layout->offset());
  arguments.size(first_of(weight)).size(first_of(bias)).size(places.first()).size(places.second());
  arguments.size(states.layout->offset()).stride(states.layout->stride(0)).size(first_of(y));
  const Program& program = runtime.program({"causal_conv", {params.silu ? 1U : 0U, kernel}},
                                           [&] { return kernels::causal_conv(params, kernel, runtime.caps()); });
  launch(runtime, program, kernels::groups_for(program.kernel(), static_cast<uint64_t>(lanes), runtime.caps()), arguments);
}

}  // namespace wick::launchers
