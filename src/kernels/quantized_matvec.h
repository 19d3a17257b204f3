// Products of a quantized matrix with a vector, by dot products of bytes.
#pragma once

#include "ir/device_caps.h"
#include "ir/kernel.h"

namespace wick::kernels {

// Buffers x [columns] f32, bytes [columns / 4] u32, scales [columns / 32] f32: blocks of 32 elements as signed bytes, x ≈ scale · byte with
// scale = max |x| / 127. Parameters: x_offset, a multiple of 4; count of elements, a multiple of 32. Grid: groups_for(count / 32).
[[nodiscard]] ir::Kernel quantize_q8(const DeviceCaps& caps);

// Buffers w (the bytes of a GGUF tensor as u32 words), bytes and scales (of quantize_q8), y [rows] f32. Parameters: blocks of a row, rows,
// x_offset, where in `bytes` the vector begins, and y_offset. Grid: ⌈rows / rows_per_group(kernel)⌉, over two dimensions if need be. With
// subgroups each takes a row, without each group. q8_0: blocks of 34 bytes, an f16 scale and 32 signed bytes.
[[nodiscard]] ir::Kernel matvec_q8_0(const DeviceCaps& caps);
// q4_k: blocks of 144 bytes for 256 elements: f16 d and dmin, eight 6-bit scales and minima in 12 bytes, 128 bytes of nibbles. An element
// is d · scale · nibble - dmin · minimum; the nibbles of 32 bytes are two runs of 32 elements, low ones first.
[[nodiscard]] ir::Kernel matvec_q4_k(const DeviceCaps& caps);
[[nodiscard]] uint32_t rows_per_group(const ir::Kernel& kernel);

}  // namespace wick::kernels
