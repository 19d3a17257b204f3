// I2_S, the ternary weights of BitNet's fork of ggml: codes 0, 1, 2 for -1, 0, 1 and one scale for the whole tensor.
//
// 128 codes lie in 32 bytes: element 32 g + l of a block in byte l, shifted by 6 - 2 g. Behind the last block follow 32 bytes that begin
// with the scale, an f32. Code 3 means 0, as in the fork's dequantize_row_i2_s. (Files made on ARM have 64 codes in 16 bytes; nothing in
// a file tells which it is, and the published ones are of this kind.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wick/layout/dtype.h"

namespace wick {

// The scale of a tensor that fills `bytes`.
[[nodiscard]] float i2_s_scale(std::span<const std::byte> bytes) noexcept;
// Reads values.size() elements, a multiple of 128, from blocks.
void unpack_i2_s(const std::byte* blocks, float scale, std::span<float> values);

// The block format that rows of `columns` codes can be rewritten in, a scale of 1 in each block: tq2_0, or q2_0 where the columns are no
// multiple of 256.
[[nodiscard]] DType ternary_blocks_for(int64_t columns) noexcept;
// Rewrites `elements` codes (whole rows) as blocks of that format.
void rewrite_i2_s(const std::byte* codes, int64_t elements, DType to, std::byte* blocks);

}  // namespace wick
