// Products of a quantized matrix with a vector, by dot products of bytes.
#pragma once

#include <optional>
#include <vector>

#include "wick/ir/kernel.h"
#include "wick/kernels/linear.h"
#include "wick/layout/dtype.h"
#include "wick/op/device_caps.h"

namespace wick::kernels {

// Buffers x [columns] f32, bytes [columns / 4] u32, scales [columns / 32] f32: blocks of 32 elements as signed bytes, x ≈ scale · byte with
// scale = max |x| / 127. Parameters: x_offset, a multiple of 4; count of elements, a multiple of 32. Grid: groups_for(count / 32).
[[nodiscard]] ir::Kernel quantize_q8(const DeviceCaps& caps);

// Up to three weights, each with a result of its own; or gate and up, of one format and shape, y = gate_of(gate, x · gate, x · up).
struct ByteProducts {
  std::vector<DType> weights;
  std::optional<GateKind> gate = {};
  // So many columns of activations, of one token, come in f32, and each group rounds all of them into shared memory; 0: they come as bytes.
  uint32_t rounds = 0;
  // Room for so many tokens, with whom each weight that is read is multiplied.
  uint32_t tokens = 1;
  // A norm only where the kernel rounds.
  LinearExtras extras = {};
};
inline constexpr uint32_t kMaxByteTokens = 8;

// Buffers w (the bytes of a GGUF tensor as u32 words; w_2 and w_3), bytes and scales (of quantize_q8) or x f32, the norm, the biases, the
// residual, y [tokens, rows] f32 (y_2 and y_3). Parameters: columns, unless it rounds them; x_offset, where in bytes or x the first token
// begins; epsilon if there is a norm; first_block, where in w the rows begin (first_block_2 and 3); rows and y_offset of each result;
// tokens, if there is room for several; residual_offset. Grid: Σ ⌈rows / rows_per_group⌉, over two dimensions if need be. With subgroups
// each takes a row, without each group.
[[nodiscard]] ir::Kernel matvec_bytes(const ByteProducts& products, const DeviceCaps& caps);
// The formats that it multiplies: those of blocks but for codebooks, and for one scale behind all blocks.
[[nodiscard]] bool multiplies_bytes_of(DType dtype) noexcept;
[[nodiscard]] uint32_t rows_per_group(const ByteProducts& products, const DeviceCaps& caps);
[[nodiscard]] uint32_t rows_per_group(const ir::Kernel& kernel);

}  // namespace wick::kernels
