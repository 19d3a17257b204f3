// Common parts of launches with quantized operands.
#pragma once

#include "wick/tensor/ops/launchers/launcher.h"

namespace wick::launchers {

// The buffers that kernels::QuantizedBlocks declared first: the tensor's and its codebook; and its parameter.
[[nodiscard]] Arguments quantized_arguments(Runtime& runtime, const Operand& tensor);

// out = in, of which `in` is quantized.
void dequantize(const OpCall& call);
// out = in, of which `out` is q8_0 and `in` f32.
void quantize(const OpCall& call);

}  // namespace wick::launchers
