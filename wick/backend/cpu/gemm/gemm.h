// A blocked matrix product over whatever its packing functions give: the loops around the register tile (Goto & van de Geijn 2008).
// One thread computes one region of the result. A right block of kProductDepth rows stays in the second-level cache while the left
// panels pass by; a left panel stays in the first-level cache while it meets every panel of that block.
#pragma once

#include <algorithm>
#include <utility>

#include "wick/backend/cpu/cpu_runtime.h"
#include "wick/backend/cpu/gemm/matrix_source.h"
#include "wick/backend/cpu/simd/product_kernels.h"

namespace wick::cpu {

// Rows and columns of the result that one thread computes; k in packed elements.
struct ProductRegion {
  int64_t row_begin;
  int64_t row_end;
  int64_t column_begin;
  int64_t column_end;
  int64_t k;
  int64_t pass_rows;  // rows of a block: all of them, or the parts of even_passes()
};

// The result of a block, or the room for its sums.
template <class Sum>
struct ProductTarget {
  Sum* data;
  int64_t stride;
};

// A right operand whose rows are contiguous and can be read where they lie; data is nullptr where that is not so.
template <class Packed>
struct DirectRight {
  const Packed* data = nullptr;
  int64_t row_stride = 0;
};

// Where the operands lie, for reading ahead; data is nullptr where that is not worth while. `step`: elements in a packed one, along the
// sum.
struct ProductSources {
  MatrixSource left;
  MatrixSource right;
  int64_t step = 1;
};

// The lines of a block of a matrix.
[[nodiscard]] inline ReadAhead lines_of(const MatrixSource& source, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  constexpr int64_t kLine = 64;
  if (source.column_stride != 1 && source.row_stride == 1) return lines_of(source.transposed(), column, columns, row, rows);
  if (source.data == nullptr || source.column_stride != 1 || rows <= 0 || columns <= 0) return {};
  const int64_t element = info(source.dtype).block_bytes;
  const int64_t row_bytes = (columns * element + kLine - 1) / kLine * kLine;
  const std::byte* first = source.at(row, column).data;
  return {first, first + row_bytes, row_bytes, source.row_stride * element, kLine, rows * row_bytes};
}

// Two right blocks, one in use and one on its way, leave half of a second-level cache of 2 MiB to what streams by.
inline constexpr int64_t kRightBlockBytes = 1 << 19;
// The most rows of a pass whose sums are kept aside until they can be rounded.
inline constexpr int64_t kPassRows = 1024;

// The operands of a product.
// pack_left(row, rows, depth, part, out): rows of the left operand, kProductStride apart.
// pack_right(depth, part, column, columns, out): rows of the right operand, tile.columns apart.
template <class Packed, class PackLeft, class PackRight>
struct ProductOperands {
  PackLeft pack_left;
  PackRight pack_right;
  DirectRight<Packed> direct = {};
  ProductSources sources = {};
};

template <class Packed, class Sum, class PackLeft, class PackRight>
class RegionProduct {
 public:
  RegionProduct(const ProductTile<Packed, Sum>& tile, Scratch& scratch, const ProductRegion& region,
                const ProductOperands<Packed, PackLeft, PackRight>& operands)
      : tile_(tile), region_(region), operands_(operands), panel_size_(kProductDepth * tile.columns), frame_(scratch) {
    const int64_t width = region.column_end - region.column_begin;
    const int64_t panel_bytes = panel_size_ * static_cast<int64_t>(sizeof(Packed));
    block_columns_ = std::max<int64_t>(1, kRightBlockBytes / panel_bytes) * tile.columns;
    const int64_t panels = panels_of(std::min(block_columns_, width));
    left_ = frame_.take<Packed>(static_cast<size_t>(tile.rows * kProductStride));
    right_ = frame_.take<Packed>(static_cast<size_t>(panels * panel_size_));
  }

  // Sums go where the result is: target_of(row, column) is the place of a block's first one.
  template <class TargetOf>
  void run_in_place(const TargetOf& target_of) {
    for_each_block([&](int64_t row, int64_t row_end) { multiply_pass(row, row_end, target_of(row, begin_)); });
  }

  // Sums are kept in scratch until those of a block are complete; then store(row, column, columns, sums) takes each row of it.
  template <class Store>
  void run_aside(Scratch& scratch, const Store& store) {
    for_each_block([&](int64_t first, int64_t row_end) {
      const int64_t columns = end_ - begin_;
      ScratchFrame frame(scratch);
      Sum* sums = frame.take<Sum>(static_cast<size_t>((row_end - first) * columns));
      multiply_pass(first, row_end, {sums, columns});
      for (int64_t row = first; row < row_end; ++row) store(row, begin_, columns, sums + (row - first) * columns);
    });
  }

 private:
  // Calls body(first row, end of the rows) for each pass of each block of columns [begin_, end_).
  template <class Body>
  void for_each_block(const Body& body) {
    for (begin_ = region_.column_begin; begin_ < region_.column_end; begin_ = end_) {
      end_ = std::min(begin_ + block_columns_, region_.column_end);
      for (int64_t pass = region_.row_begin; pass < region_.row_end; pass += region_.pass_rows) {
        body(pass, std::min(pass + region_.pass_rows, region_.row_end));
      }
    }
  }

  [[nodiscard]] int64_t panels_of(int64_t columns) const { return (columns + tile_.columns - 1) / tile_.columns; }
  [[nodiscard]] int64_t part_at(int64_t depth) const { return std::min(kProductDepth, region_.k - depth); }
  [[nodiscard]] bool is_direct(int64_t columns) const { return operands_.direct.data != nullptr && columns == tile_.columns; }
  [[nodiscard]] Packed* panel_at(int64_t column) const { return right_ + (column - begin_) / tile_.columns * panel_size_; }

  void multiply_pass(int64_t pass, int64_t pass_end, const ProductTarget<Sum>& target) {
    for (int64_t depth = 0; depth < region_.k; depth += kProductDepth) {
      pack_block(depth);
      const int64_t next = depth + kProductDepth;
      if (operands_.direct.data == nullptr && next < region_.k) {
        const ProductSources& sources = operands_.sources;
        right_ahead_ = lines_of(sources.right, next * sources.step, part_at(next) * sources.step, begin_, end_ - begin_);
      }
      for (int64_t row = pass; row < pass_end; row += tile_.rows) {
        read_left_ahead(row + tile_.rows, depth, pass_end);
        multiply_rows(depth, row, std::min(tile_.rows, pass_end - row), {target.data + (row - pass) * target.stride, target.stride});
      }
    }
  }

  // Asks for the left panel that comes next; not all at once, but evenly over the tiles that this one meets, down to a quarter of a line
  // at a time.
  void read_left_ahead(int64_t row, int64_t depth, int64_t row_end) {
    const int64_t step = operands_.sources.step;
    left_ahead_ = lines_of(operands_.sources.left, row, std::min(tile_.rows, row_end - row), depth * step, part_at(depth) * step);
    const int64_t panels = panels_of(end_ - begin_);
    left_ahead_.step = panels > 2 ? 16 : panels > 1 ? 32 : 64;
  }

  void pack_block(int64_t depth) {
    for (int64_t column = begin_; column < end_; column += tile_.columns) {
      const int64_t columns = std::min(tile_.columns, end_ - column);
      if (is_direct(columns)) continue;
      Packed* panel = panel_at(column);
      if (columns < tile_.columns) std::fill_n(panel, part_at(depth) * tile_.columns, Packed{});
      operands_.pack_right(depth, part_at(depth), column, columns, panel);
    }
  }

  void multiply_rows(int64_t depth, int64_t row, int64_t rows, const ProductTarget<Sum>& target) {
    const int64_t part = part_at(depth);
    operands_.pack_left(row, rows, depth, part, left_);
    if (rows % 2 != 0) std::fill_n(left_ + rows * kProductStride, part, Packed{});
    for (int64_t column = begin_; column < end_; column += tile_.columns) {
      const int64_t columns = std::min(tile_.columns, end_ - column);
      const bool in_place = is_direct(columns);
      const DirectRight<Packed>& direct = operands_.direct;
      const MatrixView<const Packed> panel{in_place ? direct.data + depth * direct.row_stride + column : panel_at(column),
                                           in_place ? direct.row_stride : tile_.columns, part, tile_.columns};
      ReadAhead* ahead = left_ahead_.bytes_left > 0 ? &left_ahead_ : right_ahead_.bytes_left > 0 ? &right_ahead_ : nullptr;
      tile_.multiply(left_, panel, {target.data + column - begin_, target.stride, rows, columns}, depth > 0, ahead);
    }
  }

  const ProductTile<Packed, Sum>& tile_;
  const ProductRegion& region_;
  const ProductOperands<Packed, PackLeft, PackRight>& operands_;
  int64_t panel_size_;
  ScratchFrame frame_;
  int64_t block_columns_ = 0;
  Packed* left_ = nullptr;
  Packed* right_ = nullptr;
  int64_t begin_ = 0;  // the columns of the current block
  int64_t end_ = 0;
  ReadAhead left_ahead_;
  ReadAhead right_ahead_;
};

// Rows of each pass where they are cut into passes of about the same length, at most kPassRows of them and whole tiles.
[[nodiscard]] inline int64_t even_passes(int64_t rows, int64_t tile_rows) {
  const int64_t passes = (rows + kPassRows - 1) / kPassRows;
  const int64_t tiles = (rows + tile_rows - 1) / tile_rows;
  return std::max<int64_t>(1, (tiles + passes - 1) / std::max<int64_t>(passes, 1)) * tile_rows;
}

// How many parts the rows and the columns of a result are cut into, one part for each thread.
struct ProductGrid {
  int64_t row_parts = 1;
  int64_t column_parts = 1;
};

// The cut whose largest part is the smallest, and among those the one that packs the least.
[[nodiscard]] inline ProductGrid choose_grid(int64_t row_tiles, int64_t column_tiles, int64_t tile_rows, int64_t tile_columns,
                                             int64_t threads) {
  ProductGrid best;
  int64_t best_work = row_tiles * column_tiles;
  int64_t best_packing = row_tiles * tile_rows + column_tiles * tile_columns;
  for (int64_t row_parts = 1; row_parts <= threads; ++row_parts) {
    const int64_t column_parts = threads / row_parts;
    const int64_t rows = (row_tiles + row_parts - 1) / row_parts;
    const int64_t columns = (column_tiles + column_parts - 1) / column_parts;
    const int64_t packing = rows * tile_rows + columns * tile_columns;
    if (rows * columns > best_work || (rows * columns == best_work && packing >= best_packing)) continue;
    best = {row_parts, column_parts};
    best_work = rows * columns;
    best_packing = packing;
  }
  return best;
}

// Part `part` of `parts` of [0, count) in whole tiles.
[[nodiscard]] inline std::pair<int64_t, int64_t> part_of(int64_t count, int64_t tile, int64_t part, int64_t parts) {
  const int64_t tiles = (count + tile - 1) / tile;
  return {std::min(count, tiles * part / parts * tile), std::min(count, tiles * (part + 1) / parts * tile)};
}

// Below this many multiplications a second thread costs more than it gives.
inline constexpr int64_t kParallelWork = 1 << 18;

// `batches` products of [m, k] and [k, n], by register tiles of that size.
struct ProductExtents {
  int64_t batches, m, n, k;
  int64_t tile_rows, tile_columns;
};

// Calls body(thread, batch, row_begin, row_end, column_begin, column_end) for parts that cover all results. Which thread takes which part
// changes no sum.
template <class Body>
void for_each_part(ThreadPool& pool, const ProductExtents& extents, const Body& body) {
  const auto [batches, m, n, k, tile_rows, tile_columns] = extents;
  if (pool.size() == 1 || batches * m * n * k < kParallelWork) {
    for (int64_t batch = 0; batch < batches; ++batch) body(0, batch, 0, m, 0, n);
    return;
  }
  const bool whole = batches % pool.size() == 0 || batches >= 4 * pool.size();
  const ProductGrid grid =
      whole ? ProductGrid{}
            : choose_grid((m + tile_rows - 1) / tile_rows, (n + tile_columns - 1) / tile_columns, tile_rows, tile_columns, pool.size());
  pool.run([&](int thread, int threads) {
    const int64_t first = whole ? batches * thread / threads : 0;
    const int64_t last = whole ? batches * (thread + 1) / threads : batches;
    const int64_t part = whole ? 0 : thread;
    if (part >= grid.row_parts * grid.column_parts) return;
    const auto [row_begin, row_end] = part_of(m, tile_rows, part / grid.column_parts, grid.row_parts);
    const auto [column_begin, column_end] = part_of(n, tile_columns, part % grid.column_parts, grid.column_parts);
    if (row_begin == row_end || column_begin == column_end) return;
    for (int64_t batch = first; batch < last; ++batch) body(thread, batch, row_begin, row_end, column_begin, column_end);
  });
}

}  // namespace wick::cpu
