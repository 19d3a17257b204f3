#include "wick/kernels/rope.h"

#include "wick/tensor/ops/launchers/launcher.h"
#include "wick/tensor/ops/launchers/launchers.h"

namespace wick::launchers {

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

namespace {

// Four neighbours at a time where all rows and their places allow it.
uint32_t unit_of(const Operand& keys, const Operand& values, const Operand& turned) {
  if (keys.dtype == DType::q8_0) return 32;
  for (const Operand* operand : {&keys, &values, &turned}) {
    const Layout& layout = *operand->layout;
    if (layout.offset() % 4 != 0 || layout.shape()[2] % 4 != 0 || layout.stride(0) % 4 != 0 || layout.stride(1) % 4 != 0) return 1;
  }
  return 4;
}

}  // namespace

void rope_into_cache(const OpCall& call) {
  const Operand &query = call.inputs[0], &table = call.inputs[3], &keys = call.outputs[0], &values = call.outputs[1],
                &turned = call.outputs[2];
  Runtime& runtime = *call.runtime;
  const bool interleaved = call.parameters<RopeParams>().style == RopeStyle::interleaved;
  const kernels::CacheRows rows{keys.dtype, unit_of(keys, values, turned), interleaved};
  const Shape& shape = query.layout->shape();
  const int64_t tokens = shape[0], heads = shape[1], kv_heads = keys.layout->shape()[0], units = shape[2] / rows.unit,
                value_units = values.layout->shape()[2] / rows.unit, count = tokens * ((heads + kv_heads) * units + kv_heads * value_units);
  Arguments arguments;
  const InOneBuffer places(runtime, call.inputs[4], call.inputs[5]);
  const std::span<const Operand> numbers = call.inputs.first(4);
  for (const Operand& input : numbers) arguments.buffer(input);
  arguments.buffer(places.buffer());
  for (const Operand& output : call.outputs) arguments.buffer(output);
  arguments.size(count).size(heads).size(kv_heads).size(units).size(value_units).size(table.layout->shape()[1]);
  for (const Operand& input : numbers) arguments.size(first_of(input));
  arguments.size(places.first()).size(places.second());
  for (const Operand* cache : {&keys, &values}) {
    check_range(*cache);
    const Layout& layout = *cache->layout;
    arguments.size(layout.offset() / rows.unit).stride(layout.stride(0) / rows.unit).stride(layout.stride(1) / rows.unit);
  }
  arguments.size(first_of(turned));
  const Program& program = runtime.program({"rope_into_cache", {number_of(rows.dtype), rows.unit, interleaved ? 1U : 0U}},
                                           [&] { return kernels::rope_into_cache(rows, runtime.caps()); });
  launch(runtime, program, kernels::groups_for(program.kernel(), static_cast<uint64_t>(count), runtime.caps()), arguments);
}

}  // namespace wick::launchers
