#include "wick/kernels/linear_tiles.h"

#include <fmt/format.h>

#include <memory>

#include "wick/base/fail.h"
#include "wick/kernels/group_options.h"
#include "wick/kernels/strided.h"
#include "wick/kernels/tile_product.h"

namespace wick::kernels {

using namespace ir;

namespace {

// The largest first: a weight is rounded once for all tokens of a block.
constexpr TileGroup kGroups[] = {{2, 4, 4, 2}, {2, 2, 2, 2}};
// The same blocks by as many lanes, in subgroups of 64: a slice of a quantized weight has no parts for more.
constexpr TileGroup kWideGroups[] = {{1, 4, 8, 2}, {1, 2, 4, 2}};

TileProduct product_of(const LinearTiles& tiles) { return {tiles.tile, tiles.group, tiles.subgroup_size}; }

}  // namespace

ir::Kernel halves_by_column(const DeviceCaps& caps) {
  KernelBuilder k("halves_by_column", {.group_size = group_options(caps, 128).group_size});
  const Memory x = k.buffer("x", Element::f32), halves = k.output("halves", Element::u32);
  const Value x_offset = k.parameter("x_offset", Type::u32), columns = k.parameter("columns", Type::u32),
              tokens = k.parameter("tokens", Type::u32), token_words = k.parameter("token_words", Type::u32);
  constexpr uint32_t kTokens = 2 * kHalvesWords, kStride = kHalvesColumns + 1;
  const Memory patch = k.shared(Element::f32, kTokens * kStride);
  const Value first_column = k.group_id(0) * kHalvesColumns, first_word = k.group_id(1) * kHalvesWords;
  k.loop(k.local_id(), kTokens * kHalvesColumns, k.kernel().group_size, [&](const Value& i) {
    const Value row = i / kHalvesColumns, token = first_word * 2U + row, column = first_column + i % kHalvesColumns;
    patch[row * kStride + i % kHalvesColumns] = x.load_if((token < tokens) & (column < columns), x_offset + token * columns + column, 0.0F);
  });
  k.barrier();
  k.loop(k.local_id(), kHalvesColumns * kHalvesWords, k.kernel().group_size, [&](const Value& i) {
    const Value column = i / kHalvesWords, word = i % kHalvesWords;
    const Value low = patch[word * (2 * kStride) + column], high = patch[word * (2 * kStride) + kStride + column];
    halves.store_if((first_column + column < columns) & (first_word + word < token_words),
                    (first_column + column) * token_words + first_word + word, pack_limited(low, high));
  });
  return k.finish();
}

ir::Kernel halves_of_weight(DType dtype, const DeviceCaps& caps) {
  KernelBuilder k(fmt::format("halves_of_{}", to_string(dtype)), {.group_size = group_options(caps, 128).group_size});
  const WeightRows weight(k, dtype, RowAccess::blocks);
  const Memory halves = k.output("halves", Element::u32);
  const Value columns = k.parameter("columns", Type::u32), units = k.parameter("units", Type::u32);
  const Value i = global_lane(k), per_row = columns / 16U;
  k.when(i < units, [&] { store_halves(halves, i * 8U, {weight.read(i / per_row, i % per_row), i < units}); });
  return k.finish();
}

TileShape LinearTiles::block() const { return product_of(*this).block(); }

std::optional<LinearTiles> linear_tiles_of(const LinearForm& form, int64_t rows, int64_t tokens, const DeviceCaps& caps) {
  if (caps.tiles.empty() || form.access == RowAccess::elements || form.dtype == DType::f32) return std::nullopt;
  std::optional<LinearTiles> best;
  for (const TileGroup& group : caps.max_subgroup_size == 64 ? kWideGroups : kGroups) {
    const LinearTiles tiles{caps.tiles.front(), group, static_cast<uint32_t>(caps.max_subgroup_size)};
    const TileProduct product = product_of(tiles);
    const TileShape block = product.block();
    const uint32_t unit = form.access == RowAccess::blocks ? 16 : 8;
    if (!product.fits(caps) || block.k % unit != 0 || UnitSource::units(product.left_slice(), unit) % product.lanes() != 0) continue;
    best = tiles;
    // A large block pays even where a quarter of the device has none (on an H200, of three quarters, one, and one and a half).
    if (4 * ((rows + block.m - 1) / block.m) * ((tokens + block.n - 1) / block.n) >= 3 * int64_t{caps.compute_units}) break;
  }
  return best;
}

ir::Kernel linear_tiles(const LinearForm& form, const LinearTiles& tiles) {
  WICK_ASSERT(!form.gate);
  const TileProduct product = product_of(tiles);
  const TileShape block = product.block();
  KernelBuilder k(fmt::format("linear_tiles_{}_{}x{}", to_string(form.dtype), block.m, block.n),
                  {.group_size = product.lanes(), .subgroup_size = tiles.subgroup_size});
  const Value first_row = k.group_id(0) * block.m, first_token = k.group_id(1) * block.n;
  const WeightRows weight(k, form.dtype, form.access);
  const Memory halves = k.buffer("halves", Element::u32), y = k.output("y", Element::f32);
  const Value columns = k.parameter("columns", Type::u32), rows = k.parameter("rows", Type::u32),
              y_offset = k.parameter("y_offset", Type::u32), tokens = k.parameter("tokens", Type::u32),
              token_words = k.parameter("token_words", Type::u32);
  std::unique_ptr<TileSource> left;
  if (form.dtype == DType::f16) {  // used without conversion
    const WordSource::Matrix matrix{weight.words(), weight.offset() / 2U, weight.row_stride() / 2U, rows, columns / 2U};
    left = std::make_unique<WordSource>(k, matrix, product.left_slice(), WordSource::Depth::along_rows, first_row);
  } else {
    // Rows beyond the last are the last one again, as their results are not stored; columns beyond the last are 0.
    const auto read = [=, &k, &weight](const Value& row, const Value& column, const Value& depth) -> UnitSource::Unit {
      const Value at = depth + column, exists = at < columns;
      return {weight.read(min(first_row + row, rows - 1U), select(exists, at / weight.unit(), k.constant(0U))), exists};
    };
    left = std::make_unique<UnitSource>(k, weight.unit(), product.left_slice(), read);
  }
  WordSource right(k, {halves, k.constant(0U), token_words, columns, token_words}, product.right_slice(), WordSource::Depth::down_columns,
                   first_token);
  const auto store = [&](const Value& in_row, const Value& in_token, const Value& value) {
    const Value row = first_row + in_row, token = first_token + in_token;
    y.store_if((row < rows) & (token < tokens), y_offset + token * rows + row, value);
  };
  product.run(k, columns, *left, right, store, true);
  return k.finish();
}

}  // namespace wick::kernels
