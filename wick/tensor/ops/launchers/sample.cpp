#include "wick/kernels/sample.h"

#include "wick/base/fail.h"
#include "wick/tensor/ops/launchers/launcher.h"
#include "wick/tensor/ops/launchers/launchers.h"

namespace wick::launchers {

void sample(const OpCall& call) {
  Runtime& runtime = *call.runtime;
  const Operand& logits = call.inputs[0];
  check_range(logits);
  const Program& program = runtime.program({"sample", {}}, [&] { return kernels::sample(runtime.caps()); });
  Arguments arguments;
  for (const Operand& input : call.inputs) arguments.buffer(input);
  arguments.buffer(call.outputs[0]).size(logits.layout->shape()[1]);
  for (const Operand& input : call.inputs) arguments.size(first_of(input));
  arguments.size(first_of(call.outputs[0]));
  const int64_t rows = logits.layout->shape()[0];
  if (rows > runtime.caps().max_group_count[0]) {
    fail(ErrorCode::unsupported, "sample: {} rows of logits; {} takes {} at once", rows, runtime.caps().name,
         runtime.caps().max_group_count[0]);
  }
  launch(runtime, program, {static_cast<uint32_t>(rows), 1, 1}, arguments);
}

}  // namespace wick::launchers
