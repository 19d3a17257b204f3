// Interleaved weights: 16 rows of a quantized matrix with their bits side by side, so that one vector register holds the same four
// columns of 16 rows, which is what an integer dot-product instruction eats. A tile of 16 rows has exactly the bytes of its 16 plain
// rows, and the rows behind the last whole tile keep the plain layout.
//
// A plain block is a list of sections, each a list of units: 2-byte scales, 1-byte scales, 4-byte words of quants. A tile's block is the
// same list in the order of the table in interleave.cpp, each unit standing 16 times, once for each row: u₀r₀ u₀r₁ … u₀r₁₅ u₁r₀ …
// So word w of the quants is one 64-byte vector with the same four bytes of 16 rows. The order is that of use: a processor's prefetchers
// follow one stream, but lose three that run side by side. q8_0's quants are stored as quant + 128 (unsigned).
// f16 and bf16 have blocks of 32 columns here, two columns a word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wick/layout/dtype.h"

namespace wick::cpu {

inline constexpr int64_t kInterleavedRows = 16;

// Whether there is such a layout for weights of that dtype.
[[nodiscard]] bool has_tile_layout(DType dtype) noexcept;
// Columns that a tile of that dtype has a multiple of: those of a block, 32 for f16 and bf16.
[[nodiscard]] int64_t tile_block_columns(DType dtype) noexcept;

// The loop that most of a tile goes through: words 0 … count - 1, a multiple of four, of each of 16 rows that are `row_bytes` apart, to
// word 16 · w + r of the tile, each exclusive-ored with `flips`.
using GatherWords = void (*)(const std::byte* rows, int64_t row_bytes, int64_t count, uint32_t flips, std::byte* tile);
void gather_words(const std::byte* rows, int64_t row_bytes, int64_t count, uint32_t flips, std::byte* tile);

// Rearranges 16 plain rows of `columns` elements, a multiple of tile_block_columns, into a tile, and back. Sizes are equal;
// source and target must not overlap. A processor may bring a quicker loop.
void interleave_tile(DType dtype, const std::byte* rows, int64_t columns, std::byte* tile, GatherWords gather = gather_words);
void deinterleave_tile(DType dtype, const std::byte* tile, int64_t columns, std::byte* rows);
// The values of row `row` of a tile, 0 to 15.
void unpack_tile_row(DType dtype, const std::byte* tile, int64_t row, std::span<float> values);

}  // namespace wick::cpu
