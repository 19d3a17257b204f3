// Products of many tokens with the rows of a weight, by matrix tiles: y[token, row] = Σ over columns x[token, column] · weight[row,
// column]. Both operands are rounded to f16, sums are in f32.
#pragma once

#include "wick/ir/kernel.h"
#include "wick/kernels/linear.h"
#include "wick/kernels/tile_product.h"
#include "wick/op/device_caps.h"

namespace wick::kernels {

// The activations as f16 by columns: word t of column c holds those of tokens 2t and 2t + 1; beyond the last token there are zeros, and
// what f16 does not hold becomes its largest number. Buffers x of f32, halves of u32: [columns, token_words]. Parameters: x_offset,
// columns, tokens, token_words. Grid: ⌈columns / 32⌉ × ⌈token_words / 16⌉.
[[nodiscard]] ir::Kernel halves_by_column(const DeviceCaps& caps);
inline constexpr uint32_t kHalvesColumns = 32, kHalvesWords = 16;

// A weight's rows as linear_tiles rounds them. Buffers w (and its codebook), halves of u32: [rows, columns / 2]. Parameters: those of
// WeightRows; columns; units, of which a row has columns / 16. Grid: groups_for(units). Of RowAccess::blocks.
[[nodiscard]] ir::Kernel halves_of_weight(DType dtype, const DeviceCaps& caps);

// How a device's tiles are used; none where it has no tiles, or they do not fit its groups and shared memory.
struct LinearTiles {
  TileShape tile;
  TileGroup group{};
  uint32_t subgroup_size = 32;

  [[nodiscard]] TileShape block() const;  // m rows × n tokens of a group, k columns at a time
};
// For that many results, whose groups shall be many enough for the device.
[[nodiscard]] std::optional<LinearTiles> linear_tiles_of(const LinearForm& form, int64_t rows, int64_t tokens, const DeviceCaps& caps);

// Buffers w (and its codebook), halves, y of f32. Parameters: those of WeightRows; columns, rows, y_offset, tokens, token_words (a
// multiple of four). Grid: ⌈rows / block m⌉ × ⌈tokens / block n⌉. Not gated, not of RowAccess::elements, not of f32.
[[nodiscard]] ir::Kernel linear_tiles(const LinearForm& form, const LinearTiles& tiles);

}  // namespace wick::kernels
