// Quantized tensors as plain ones.
#pragma once

#include "wick/ir/kernel.h"
#include "wick/layout/dtype.h"
#include "wick/op/device_caps.h"

namespace wick::kernels {

// Buffers w (and the codebook), y. Parameters: those of QuantizedBlocks; of a StridedGrid over sixteens of elements with the views "w",
// which counts sixteens, and "y"; and y_step, the distance of neighbouring elements of a sixteen in y.
[[nodiscard]] ir::Kernel dequantize(DType from, DType to, uint32_t rank, const DeviceCaps& caps);

// Rows of a table by number. Buffers w (and the codebook), ids (their words: i64 ids are two, of which the lower counts), y f32.
// Parameters: those of QuantizedBlocks; of a StridedGrid over the sixteens of all rows with the views "ids" and "y"; width, and first, the
// table's first sixteen. y is row-major.
[[nodiscard]] ir::Kernel embedding_of_blocks(DType table, DType ids, uint32_t rank, const DeviceCaps& caps);
// The same of a plain table, over elements. Parameters: those of a StridedGrid with "ids" and "y"; width, and the table's offset and
// strides.
[[nodiscard]] ir::Kernel embedding_of_numbers(DType table, DType ids, uint32_t rank, const DeviceCaps& caps);

}  // namespace wick::kernels
