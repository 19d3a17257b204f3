// How each block format is dequantized: one function per format.
#pragma once

#include "wick/kernels/quantized_blocks.h"

namespace wick::kernels {

// The bytes of one block among a tensor's words.
struct BlockBytes {
  const ir::Memory& words;
  ir::Value first;       // the number of its first byte
  uint32_t block_bytes;  // what that is a multiple of
  const ir::Memory* codebook;

  // The word (half, byte) that begins at byte `at + varying` of the block, of which `varying` is a multiple of `step`; the rest of what a
  // byte or half is read from is cut off.
  [[nodiscard]] ir::Value word(uint32_t at, const ir::Value& varying, uint32_t step) const;
  [[nodiscard]] ir::Value byte(uint32_t at, const ir::Value& varying) const;
  [[nodiscard]] ir::Value half(uint32_t at, const ir::Value& varying) const;
  // Four words from there on.
  [[nodiscard]] std::array<ir::Value, 4> words4(uint32_t at, const ir::Value& varying, uint32_t step) const;
  // The f16 at a fixed byte, as f32.
  [[nodiscard]] ir::Value f16(uint32_t at) const;
};

// The 6-bit scale and minimum of run 0 to 7 in the 12 bytes that q4_k and q5_k have for them (ScaleMin in quant/blocks.h).
struct RunScale {
  ir::Value scale, minimum;
};
[[nodiscard]] RunScale six_bit_scale(const std::array<ir::Value, 3>& words, const ir::Value& run);

using FormatReader = Sixteen (*)(const BlockBytes& block, const ir::Value& sixteen);
// nullptr for a dtype that is none of the formats.
[[nodiscard]] FormatReader find_format(DType dtype) noexcept;
// The same among those whose elements are points of a codebook.
[[nodiscard]] FormatReader find_codebook_format(DType dtype) noexcept;

// For each word the four bytes codebook[b & 15] of its bytes b.
[[nodiscard]] std::array<ir::Value, 4> look_up(const ir::Memory& codebook, const std::array<ir::Value, 4>& words);

}  // namespace wick::kernels
