// The inner loops of matrix products: register tiles over packed operands, and the rearrangements that pack them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wick/backend/cpu/matrix_view.h"
#include "wick/base/half.h"

namespace wick::cpu {

// Elements of a sum that one call of a tile adds up: a packed left panel and a packed right one fit the first two cache levels.
inline constexpr int64_t kProductDepth = 256;
// Elements from one row of a left panel to the next. More than the depth, so that the rows fall into different sets of the cache.
inline constexpr int64_t kProductStride = kProductDepth + 16;

// Memory that a tile asks for while it multiplies, `step` bytes further in each step of its sum, so that what is packed next has come from
// memory by then: runs of row_bytes, `stride` bytes apart.
struct ReadAhead {
  const std::byte* line = nullptr;     // the next one
  const std::byte* row_end = nullptr;  // of its run
  int64_t row_bytes = 0;
  int64_t stride = 0;
  int64_t step = 64;
  int64_t bytes_left = 0;
};

// A register tile of c [rows, columns] = a · b, whose packed operands are of type Packed and whose sums are of type Sum. Every element
// of c is one chain of fused multiply-adds in the order of the sum, whatever the size of its tile.
template <class Packed, class Sum>
struct ProductTile {
  int64_t rows = 0;     // of the largest tile
  int64_t columns = 0;  // of the largest tile: the width of a right panel
  // c = or, with `accumulate`, += a · b. a: rows kProductStride apart, readable up to an even number of rows. b: a row for each element of
  // the sums, at least one, readable up to the next multiple of columns / 2. 1 <= c.rows <= rows, likewise columns. `ahead` may be nullptr.
  void (*multiply)(const Packed* a, const MatrixView<const Packed>& b, const MatrixView<Sum>& c, bool accumulate,
                   ReadAhead* ahead) = nullptr;
  // The same with row i of b at b + offsets[i]: an image that is read in place, its rows overlapping. nullptr for pairs.
  void (*multiply_at)(const Packed* a, const Packed* b, std::span<const int64_t> offsets, const MatrixView<Sum>& c,
                      bool accumulate) = nullptr;
  // out[row · out_stride + column] = in(row, column)
  void (*copy)(const MatrixView<const Packed>& in, Packed* out, int64_t out_stride) = nullptr;
  // out[column · out_stride + row] = in(row, column)
  void (*transpose)(const MatrixView<const Packed>& in, Packed* out, int64_t out_stride) = nullptr;
};

// The most rows that a thin product takes at once.
inline constexpr int64_t kThinRows = 4;
// c = x · b, for up to kThinRows rows; b as it lies in memory. Sums in f32.
template <class T>
using ThinProduct = void (*)(const MatrixView<const float>& x, const MatrixView<const T>& b, const MatrixView<float>& c);

// f32 as the sum of a bf16 and another one, much smaller, that keep 16 bits of it. Rows of the left operand, kSplitRows of them, `stride`
// elements apart; and of the right one pairs of rows, the first in a word's low half: words of 16 columns side by side, `stride` words from
// one pair to the next, `panel` words to the next 16 columns.
inline constexpr int64_t kSplitRows = 32;
inline constexpr int64_t kSplitColumns = 16;
inline constexpr int64_t kSplitDepth = 32;  // of a sum: what a step takes
struct SplitRows {
  const bf16* high;
  const bf16* low;
  int64_t stride;
};
struct SplitPairs {
  const uint32_t* high;
  const uint32_t* low;
  int64_t stride;
  int64_t panel;
};

// nullptr where f32 is multiplied as fast.
struct SplitProduct {
  // Whether all numbers are finite and not too large for bf16; high and low mean nothing where one is not.
  bool (*split)(const float* x, int64_t n, bf16* high, bf16* low) = nullptr;
  // c, of kSplitRows rows, = or, with `accumulate`, += a · b, without the products of two low parts. k is a multiple of kSplitDepth,
  // c.columns of kSplitColumns.
  void (*multiply)(int64_t k, const SplitRows& a, const SplitPairs& b, const MatrixView<float>& c, bool accumulate) = nullptr;
};

struct ProductKernels {
  ProductTile<float, float> f32;
  ProductTile<double, double> f64;
  // By the processor's bf16 dot product: an element is a pair of neighbours in the sum, the first in the low half. multiply is nullptr
  // where the processor has none.
  ProductTile<uint32_t, float> bf16_pairs;
  // Whether the dot product beats f32 multiplications of widened numbers. It does not on Intel's Golden Cove cores: vdpbf16ps starts
  // once in two cycles there (32 products), vfmadd231ps four times (64).
  bool prefers_bf16_pairs = false;
  SplitProduct split;
  // out[i] = first[i] in the low half, second[i] in the high one
  void (*interleave)(const uint16_t* first, const uint16_t* second, int64_t n, uint32_t* out) = nullptr;
  ThinProduct<float> thin_f32 = nullptr;
  ThinProduct<f16> thin_f16 = nullptr;  // none on scalar machines
  ThinProduct<bf16> thin_bf16 = nullptr;
};

}  // namespace wick::cpu
