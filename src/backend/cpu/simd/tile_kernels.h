// Products of interleaved weights (quant/interleave.h) with activations: what the kernels of one format look like.
//
// A block of 32 columns of a quantized format holds unsigned quants u with w = scale · (u - zero) or w = scale · u - minimum; scale and
// minimum may belong to 16 columns. For activations x ≈ s · q, rounded to 8 bits,
//   Σ w·x = scale · s · (Σ u·q - zero · Σ q)     or     scale · s · Σ u·q - minimum · (s · Σ q),
// so that all formats need the same integer dot products. What depends on the activations alone is made once, when they are rounded:
// the number each integer sum starts from, -zero · Σ q, and the sums s · Σ q that the minima are multiplied with.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/half.h"

namespace wick::cpu {

// Columns of activations that share a scale.
inline constexpr int64_t kActivationBlock = 32;

// Rows of bf16 activations that kernels take at once: `rows` of them are split into as many panels as they need, equally but for one row.
inline constexpr int64_t kPanelTokens = 12;
struct TokenPanels {
  int64_t rows;
  int64_t count = (rows + kPanelTokens - 1) / kPanelTokens;
  [[nodiscard]] int64_t first(int64_t panel) const noexcept { return rows * panel / count; }
};

// How a kernel wants the activations.
struct ActivationForm {
  enum class Kind : uint8_t { f32, bf16, int8 };
  Kind kind = Kind::int8;
  // Of int8:
  int32_t start = 0;     // each integer sum starts from start · Σ q
  bool halves = false;   // the weights' scales and minima belong to 16 columns, and so do starts and sums
  bool minimum = false;  // the weights have minima
};

// Rows of activations in the form that a kernel wants; the other forms' pointers are nullptr. Row-major but for `rounded`.
struct Activations {
  int64_t rows = 0;
  int64_t columns = 0;
  const float* values = nullptr;  // [rows, columns]
  // Panel by panel; in it 32 columns of each row, then the next 32 of each, so that what is read in turns lies together: a panel begins at
  // element first row · columns. Row-major, the rows could lie a power of two apart, in one set of the cache.
  const bf16* rounded = nullptr;
  // value ≈ scale · quant. `parts` is columns / 32, or columns / 16 where the form has halves.
  int64_t parts = 0;
  const int8_t* quants = nullptr;   // [rows, columns]
  const float* scales = nullptr;    // [rows, columns / 32]
  const int32_t* starts = nullptr;  // [rows, parts]
  const float* sums = nullptr;      // [rows, parts]: scale · Σ quants, where the form has minima
};

// Columns of a tile; multiples of the format's block.
struct ColumnChunk {
  int64_t first;
  int64_t count;
};

// Tiles of 16 weight rows as the general kernel of many rows reads them, `stride` bytes from one to the next. What `expand` writes is up to
// the instruction set: for each vector of rows one run of blocks of 32 columns, and in each block 8 vectors of unsigned quants, then one or
// two of f32 scales, then as many of minima if there are any. Float formats: pairs of bf16, or f32, column by column.
struct ExpandedTiles {
  const std::byte* data;
  int64_t stride;
  int64_t count;  // 1 or 2
};

// The kernels of one interleaved format on one instruction set.
struct TileKernels {
  // The most rows of activations that `multiply` is quick for; the other two functions are made for more.
  int64_t few_rows = 0;
  ActivationForm few_form;
  // A tile times all activations: out[row · out_stride + 0…15] = …
  void (*multiply)(const std::byte* tile, const Activations& x, float* out, int64_t out_stride) = nullptr;

  ActivationForm many_form;
  // nullptr where multiply_expanded reads the tile as it is.
  void (*expand)(const std::byte* tile, ColumnChunk chunk, std::byte* expanded) = nullptr;
  // Bytes of 32 columns of an expanded tile.
  int64_t expanded_bytes = 0;
  // Those columns of the tiles times the activations': out[row · out_stride + 0 … 16 · count - 1] = …, or += … with `accumulate`.
  void (*multiply_expanded)(const ExpandedTiles& tiles, ColumnChunk chunk, const Activations& x, bool accumulate, float* out,
                            int64_t out_stride) = nullptr;
};

}  // namespace wick::cpu
