#include "wick/kernels/random.h"

#include <cmath>

#include "wick/base/fail.h"
#include "wick/kernels/numbers.h"
#include "wick/op/uniform_range.h"
#include "wick/tensor/ops/launchers/launcher.h"
#include "wick/tensor/ops/launchers/launchers.h"

namespace wick::launchers {

void random(const OpCall& call) {
  const auto& params = call.parameters<RandomParams>();
  const Operand& out = call.outputs[0];
  // Numbers are drawn into new tensors only.
  WICK_ASSERT(out.layout->is_contiguous());
  Runtime& runtime = *call.runtime;
  const ir::Type type = kernels::compute_type(out.dtype);
  const int64_t count = out.layout->elements();
  Arguments arguments;
  arguments.buffer(out).size(count).size(out.layout->offset()).wide(params.seed).wide(params.offset / 4);
  if (params.kind == RandomKind::uniform) {
    const UniformRange range = uniform_range_of(out.dtype, params.a, params.b);
    const double largest = std::max(std::fabs(range.low), std::fabs(range.span));
    const double scale = largest > 0 ? std::ldexp(1.0, std::ilogb(largest)) : 1.0;
    for (const double number : {range.low / scale, range.span / scale, range.cap, scale}) arguments.number_as(type, number);
  } else {
    for (const double number : {params.a, params.b}) arguments.number_as(type, number);
  }
  const auto kind = params.kind == RandomKind::uniform ? kernels::RandomNumbers::uniform : kernels::RandomNumbers::normal;
  const Program& program = runtime.program({"random", {static_cast<uint32_t>(kind), number_of(out.dtype)}},
                                           [&] { return kernels::random(kind, out.dtype, runtime.caps()); });
  const int64_t per_block = out.dtype == DType::f64 ? 2 : 4;
  launch(runtime, program,
         kernels::groups_for(program.kernel(), static_cast<uint64_t>((count + per_block - 1) / per_block), runtime.caps()), arguments);
}

}  // namespace wick::launchers
