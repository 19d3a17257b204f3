#include "wick/kernels/conversions.h"
#include "wick/tensor/ops/launchers/launcher.h"
#include "wick/tensor/ops/launchers/launchers.h"
#include "wick/tensor/ops/launchers/quantized.h"

namespace wick::launchers {
namespace {

// To f32, and from there to rarely used dtypes: else each of them would need a kernel for each format.
void from_quantized(const OpCall& call) {
  check_abilities(call);
  const Operand& out = call.outputs[0];
  if (out.dtype == DType::f32 || out.dtype == DType::f16) return dequantize(call);
  const Layout layout(out.layout->shape());
  const std::unique_ptr<Buffer> numbers =
      call.runtime->allocate(static_cast<size_t>(layout.elements()) * sizeof(float), Lifetime::transient);
  const Operand wide{numbers.get(), DType::f32, &layout};
  dequantize({call.op, nullptr, call.inputs, std::span(&wide, 1), call.runtime});
  copy({call.op, nullptr, std::span(&wide, 1), call.outputs, call.runtime});
}

}  // namespace

void copy(const OpCall& call) {
  const DType source = call.inputs[0].dtype, target = call.outputs[0].dtype;
  if (is_quantized(source)) return from_quantized(call);
  if (target == DType::q8_0) return quantize(call);
  // Equal dtypes are bits that move.
  const bool moves = source == target;
  const DType from = moves ? kernels::moved_as(source) : source, to = moves ? kernels::moved_as(target) : target;
  const auto make = [&] {
    const std::string name = "copy_" + std::string(to_string(from)) + "_" + std::string(to_string(to));
    return kernels::Elementwise{name, {from}, to, 0, ir::Type::u32, [&](auto x, auto /*p*/) { return kernels::convert(x[0], from, to); }};
  };
  const bool quads = moves ? info(from).block_bytes <= 4 : has_quads(from) && has_quads(to);
  launch_elementwise(call, {"copy", {static_cast<uint32_t>(from), static_cast<uint32_t>(to)}}, make, quads);
}

}  // namespace wick::launchers
