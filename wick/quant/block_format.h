// A BlockFormat is one row of the table of quantized formats: how a row of numbers is packed into blocks and read back.
// The bits of each format are defined by ggml's reference (ggml-quants.c, 2026-08); unpacking is bit-exact with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wick/layout/dtype.h"

namespace wick {

struct BlockFormat {
  DType dtype;
  // Reads values.size() elements, a multiple of the block length, from blocks.
  void (*unpack)(const std::byte* blocks, std::span<float> values);
  // Writes them, with the bytes of ggml's reference quantizer (no importance weights); nullptr for the formats that cannot do without.
  // Values that are not finite have no place in a block: the result is then some block, so whoever reads files checks first.
  void (*pack)(std::span<const float> values, std::byte* blocks);
  // Writes one row so that errors count as much as the importance of their columns, a weight ≥ 0 for each element of the row.
  // nullptr where ggml's quantizer of the format takes no notice of it: pack() is meant then.
  void (*pack_weighted)(std::span<const float> row, std::span<const float> importance, std::byte* blocks);
};

// Writes one row by format.pack_weighted, or by format.pack where there is no importance (an empty span) or the format takes no notice of
// it. A column of importance 0, of which a text may tell nothing, counts a little, so that its values are not arbitrary; a block whose
// importance is all 0 is written without, or, where the format cannot do without, as if all of it counted alike.
void pack_row(const BlockFormat& format, std::span<const float> row, std::span<const float> importance, std::byte* blocks);

// The row of that dtype; nullptr if Wick cannot read the format. f32, f16 and bf16 have rows too.
[[nodiscard]] const BlockFormat* find_block_format(DType dtype) noexcept;
[[nodiscard]] std::span<const BlockFormat> block_formats() noexcept;

}  // namespace wick
