// Products of interleaved weights (weights/interleave.h) with activations: what the kernels of one format look like.
//
// A block of 32 columns of a quantized format holds unsigned quants u with w = scale · (u - zero) or w = scale · u - minimum; scale and
// minimum may belong to 16 columns, or to 256. For activations x ≈ s · q, rounded to 8 bits,
//   Σ w·x = s · scale · (Σ u·q - zero · Σ q)     or     s · scale · Σ u·q - minimum · (s · Σ q),
// so that all formats need the same integer dot products. What depends on the activations alone is made once, when they are rounded:
// the number each integer sum starts from, -zero · Σ q, and the sums s · Σ q that the minima are multiplied with. s belongs to 32 columns,
// or to 256 where many rows of activations meet a format whose blocks have 256, or few rows one whose scales are integers times one f16:
// then it is multiplied in once for all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "wick/base/half.h"

namespace wick::cpu {

// Columns of activations that share a scale.
inline constexpr int64_t kActivationBlock = 32;
inline constexpr int64_t kWideActivationBlock = 256;

// Rows of activations that kernels take at once, at most `most` of them: `rows` are split into as many panels as they need, equally but for
// one row.
struct TokenPanels {
  int64_t rows;
  int64_t most;
  int64_t count = (rows + most - 1) / most;
  [[nodiscard]] int64_t first(int64_t panel) const noexcept { return rows * panel / count; }
};

// How a kernel wants the activations.
struct ActivationForm {
  enum class Kind : uint8_t { f32, bf16, split_bf16, int8 };
  Kind kind = Kind::int8;
  int64_t panel_rows = 1;  // the most rows of a panel
  // Layout of int8 activations; numbers of columns are powers of two:
  int32_t start = 0;                       // each integer sum starts from start · Σ q
  int64_t columns = kActivationBlock;      // that share a scale
  int64_t sum_columns = kActivationBlock;  // of an integer sum: those that share a scale of the weights, at most `columns`
  int64_t minimum_columns = 0;             // that share a minimum of the weights; 0: there is none
};

// Rows of activations in the form that a kernel wants; the other forms' pointers are nullptr. They are written panel by panel, so that what
// is read alternately is contiguous: row-major, the rows could lie a power of two apart, in one set of the cache. A panel begins where its
// first row would without panels; the shapes are those of panels of one row.
struct Activations {
  int64_t rows = 0;
  int64_t columns = 0;
  // In a panel 32 columns of each row, then the next 32 of each.
  const float* values = nullptr;  // [rows, columns]
  const bf16* rounded = nullptr;  // [rows, columns]; of split_bf16 [rows, 2, columns]: 32 columns of each row, then what they lack to f32
  // value ≈ scale · quant. In a panel one word of four quants of each row, then the next of each; one scale of each row, and so on.
  const int8_t* quants = nullptr;   // [rows, columns]
  const float* scales = nullptr;    // [rows, columns / form.columns]
  const int32_t* starts = nullptr;  // [rows, columns / form.sum_columns]
  const float* sums = nullptr;      // [rows, columns / form.minimum_columns]: scale · Σ quants, where the weights have minima
};

// Columns of a tile; multiples of the format's block.
struct ColumnChunk {
  int64_t first;
  int64_t count;
};

// Tiles of 16 weight rows as the general kernel of many rows reads them, `stride` bytes from one to the next. What `expand` writes is up to
// the instruction set: for each vector of rows one run of groups of columns that share a scale of the activations, and in each group
// vectors of unsigned quants, four columns each, then of f32 scales, then of minima if there are any. Float formats: pairs of bf16, or f32,
// column by column.
struct ExpandedTiles {
  const std::byte* data;
  int64_t stride;
  int64_t count;       // 1 … ManyRows::tiles
  std::byte* scratch;  // `expanded_bytes` of each tile for a kernel that expands tiles itself
};

// Where the products of a chunk of columns go: out[row · out_stride + r] = products + earlier[row · earlier_stride + r]. `earlier` are the
// sums over the chunks before, nullptr with the first one.
struct ChunkSums {
  const float* earlier;
  int64_t earlier_stride;
  float* out;
  int64_t out_stride;

  [[nodiscard]] ChunkSums from(int64_t row, int64_t lane) const noexcept {
    return {earlier == nullptr ? nullptr : earlier + row * earlier_stride + lane, earlier_stride, out + row * out_stride + lane,
            out_stride};
  }
};

// How many rows of activations are multiplied: a chunk of columns of some tiles is made ready once, and all rows pass over it.
struct ManyRows {
  ActivationForm form;
  int64_t tiles = 2;  // that `multiply` takes at most
  // nullptr where `multiply` reads the tile as it is, from its first column on.
  void (*expand)(const std::byte* tile, ColumnChunk chunk, std::byte* expanded) = nullptr;
  // Bytes of 256 columns of an expanded tile; 0 where none is ever made.
  int64_t expanded_bytes = 0;
  // Makes pairs of bf16, for a `multiply` that reads nothing else: of `columns` columns of a tile that were expanded for products of
  // integers of the form `integers`, or of those columns as the tile has them where there is no `expand`. For split_bf16 those of 32
  // columns are followed by pairs of what they lack.
  void (*widen)(const std::byte* columns_of_tile, const ActivationForm& integers, int64_t columns, std::byte* pairs) = nullptr;
  // Those columns of the tiles times the activations', to lanes 0 … 16 · tiles.count - 1 of `sums`.
  void (*multiply)(const ExpandedTiles& tiles, ColumnChunk chunk, const Activations& x, const ChunkSums& sums) = nullptr;
};

// How long it takes to unpack a tile of a format, beside the products with a few rows of activations.
enum class Unpacking : uint8_t { none, light, medium, heavy };

// The kernels of one interleaved format on one instruction set.
struct TileKernels {
  // The most rows of activations that `multiply` takes.
  int64_t few_rows = 0;
  // Times that it may read a tile, for as many rows each, before `many` is quicker. The tile comes from memory the first time alone.
  int64_t few_passes = 1;
  ActivationForm few_form;
  // A tile times all activations: out[row · out_stride + 0…15] = … It prefetches `prefetch_distance` bytes ahead of what it reads; 0:
  // nothing.
  void (*multiply)(const std::byte* tile, int64_t prefetch_distance, const Activations& x, float* out, int64_t out_stride) = nullptr;
  // The distances until this machine's are known (cpu/prefetch.h): for one or two rows of activations, and for more.
  int64_t gemv_prefetch = 0;
  int64_t skinny_prefetch = 0;

  ManyRows many;
  // From so many rows on there is a quicker way, which takes longer to make ready.
  int64_t bulk_rows = std::numeric_limits<int64_t>::max();
  ManyRows bulk;

  // For more than fast_rows rows of activations, and instead of `many`, where f16 may be rounded to bf16; `multiply` is nullptr where that
  // is no quicker.
  int64_t fast_rows = 0;
  ManyRows fast;
};

}  // namespace wick::cpu
