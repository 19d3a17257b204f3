#include "kernels/conversions.h"
#include "tensor/ops/by_kernel/by_kernel.h"
#include "tensor/ops/by_kernel/launcher.h"
#include "tensor/ops/by_kernel/quantized.h"

namespace wick::by_kernel {
namespace {

bool has_quads(DType dtype) { return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16; }

}  // namespace

void copy(const OpCall& call) {
  const DType source = call.inputs[0].dtype, target = call.outputs[0].dtype;
  if (is_quantized(source)) {
    check_abilities(call);
    return dequantize(call);
  }
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

}  // namespace wick::by_kernel
