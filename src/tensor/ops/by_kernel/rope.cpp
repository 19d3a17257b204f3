#include "kernels/rope.h"

#include "tensor/ops/by_kernel/by_kernel.h"
#include "tensor/ops/by_kernel/launcher.h"

namespace wick::by_kernel {

void rope(const OpCall& call) {
  const Operand& x = call.inputs[0];
  const Operand& table = call.inputs[1];
  const Operand& y = call.outputs[0];
  Runtime& runtime = *call.runtime;
  const Shape& shape = x.layout->shape();
  const int64_t pairs = table.layout->shape()[1], units = shape[2] - pairs, count = shape[0] * shape[1] * units;
  const bool interleaved = call.parameters<RopeParams>().style == RopeStyle::interleaved;
  Arguments arguments;
  for (const Operand* operand : {&x, &table, &y}) arguments.buffer(*operand);
  arguments.size(count).size(shape[1]).size(units).size(pairs).size(interleaved ? 2 : 1).size(interleaved ? 1 : pairs);
  for (const Operand* operand : {&x, &table, &y}) {
    arguments.size(operand->layout->offset());
    for (int d = 0; d < 3; ++d) arguments.stride(operand->layout->stride(d));
  }
  const Program& program = runtime.program({"rope", {number_of(x.dtype)}}, [&] { return kernels::rope(x.dtype, runtime.caps()); });
  launch(runtime, program, kernels::groups_for(program.kernel(), static_cast<uint64_t>(count), runtime.caps()), arguments);
}

}  // namespace wick::by_kernel
