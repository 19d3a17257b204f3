#include "wick/tensor/ops/launchers/weight_operands.h"

#include "wick/tensor/ops/launchers/quantized.h"

namespace wick::launchers {

Activations activations_of(Runtime& runtime, const Operand& x) {
  Activations result{x.buffer, x.layout->offset(), 0, x.layout->shape().last(), nullptr};
  result.rows = x.layout->elements() / result.columns;
  if (result.offset % 4 == 0) return result;
  const size_t bytes = static_cast<size_t>(x.layout->elements()) * sizeof(float);
  result.aligned = runtime.allocate(bytes, Lifetime::transient);
  runtime.queue().copy(*x.buffer, static_cast<size_t>(result.offset) * sizeof(float), *result.aligned, 0, bytes);
  result.buffer = result.aligned.get();
  result.offset = 0;
  return result;
}

kernels::RowAccess access_of(const Operand& weight) {
  if (is_quantized(weight.dtype)) return kernels::RowAccess::blocks;
  const int64_t vector = 16 / info(weight.dtype).block_bytes;
  const Layout& layout = *weight.layout;
  const bool wide = weight.dtype == DType::f32 || weight.dtype == DType::f16 || weight.dtype == DType::bf16;
  const int last = layout.rank() - 1;
  const int64_t row = layout.stride(last - 1);
  const bool whole = layout.shape()[last] % vector == 0 && layout.offset() % vector == 0 && row % vector == 0;
  return wide && whole && layout.stride(last) == 1 && row >= 0 ? kernels::RowAccess::vectors : kernels::RowAccess::elements;
}

Arguments weight_arguments(Runtime& runtime, Operands weights) {
  const Operand& weight = *weights[0];
  Arguments arguments = is_quantized(weight.dtype) ? quantized_arguments(runtime, weight) : Arguments().buffer(weight);
  for (const Operand* further : weights.subspan(1)) arguments.buffer(*further);
  const Layout& layout = *weight.layout;
  const int last = layout.rank() - 1;
  if (is_quantized(weight.dtype)) return arguments.size(layout.offset() / 16).size(layout.shape()[last] / 16).size(1);
  return arguments.size(layout.offset()).stride(layout.stride(last - 1)).stride(layout.stride(last));
}

}  // namespace wick::launchers
