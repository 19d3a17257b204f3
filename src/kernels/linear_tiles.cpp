#include "kernels/linear_tiles.h"

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <utility>

#include "base/error.h"
#include "kernels/group_options.h"
#include "kernels/tile_product.h"

namespace wick::kernels {

using ir::Element;
using ir::KernelBuilder;
using ir::Memory;
using ir::Type;
using ir::Value;

namespace {

constexpr float kLargestHalf = 65504;
// Of numbers that have a scale, at most 128 in size, and an offset: together no more than an f16 holds.
constexpr float kLargestScale = 255, kLargestOffset = 32000;

// Larger numbers become the limit; infinities and NaNs stay what they are.
Value limited(const Value& value, float limit) {
  const Value size = abs(value);
  return select((size > limit) & (size <= std::numeric_limits<float>::max()), max(min(value, limit), -limit), value);
}
Value pack(const Value& low, const Value& high) { return pack_halves(limited(low, kLargestHalf), limited(high, kLargestHalf)); }

// Units of rows of a weight, rounded to f16. Rows beyond the last are the last one again, as their results are not stored; columns beyond
// the last are 0.
class WeightSource final : public TileSource {
 public:
  WeightSource(KernelBuilder& k, const WeightRows& weight, SliceShape shape, const Value& first_row, const Value& rows,
               const Value& columns)
      : k_(k), weight_(weight), shape_(shape), first_row_(first_row), rows_(rows), columns_(columns) {}

  [[nodiscard]] static uint32_t units(const SliceShape& shape, uint32_t unit) { return shape.rows * shape.words * 2 / unit; }

  void load(const Value& depth) override {
    held_.clear();
    for (uint32_t i = 0; i < units(shape_, weight_.unit()); i += k_.kernel().group_size) {
      const Value e = k_.local_id() + i, row = min(first_row_ + e / per_row(), rows_ - 1U), column = depth + e % per_row() * weight_.unit();
      const Value exists = column < columns_;
      WeightUnit unit = weight_.read(row, select(exists, column / weight_.unit(), k_.constant(0U)));
      if (unit.scale) unit.scale = limited(*unit.scale, kLargestScale);
      if (unit.offset) unit.offset = limited(*unit.offset, kLargestOffset);
      held_.push_back({std::move(unit), exists});
    }
  }

  void store(const Memory& shared, const Value& place) const override {
    for (uint32_t i = 0; i < held_.size(); ++i) {
      const Value e = k_.local_id() + i * k_.kernel().group_size;
      const Value first = place + e / per_row() * shape_.stride() + e % per_row() * (weight_.unit() / 2);
      for (uint32_t word = 0; word < weight_.unit() / 2; word += 4) {
        shared.store(first + word,
                     {word_of(held_[i], word), word_of(held_[i], word + 1), word_of(held_[i], word + 2), word_of(held_[i], word + 3)});
      }
    }
  }

 private:
  struct Held {
    WeightUnit unit;
    Value exists;
  };
  [[nodiscard]] uint32_t per_row() const { return shape_.words * 2 / weight_.unit(); }
  [[nodiscard]] static Value word_of(const Held& held, uint32_t word) {
    const Value low = held.unit.element(2 * word), high = held.unit.element(2 * word + 1);
    return select(held.exists, held.unit.scale ? pack_halves(low, high) : pack(low, high), 0U);
  }

  KernelBuilder& k_;
  const WeightRows& weight_;
  SliceShape shape_;
  Value first_row_, rows_, columns_;
  std::vector<Held> held_;
};

// The largest first: a weight is rounded once for all tokens of a block.
constexpr TileGroup kGroups[] = {{2, 4, 4, 2}, {2, 2, 2, 2}};

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
                    (first_column + column) * token_words + first_word + word, pack(low, high));
  });
  return k.finish();
}

TileShape LinearTiles::block() const { return product_of(*this).block(); }

std::optional<LinearTiles> linear_tiles_of(const LinearForm& form, int64_t rows, int64_t tokens, const DeviceCaps& caps) {
  if (caps.tiles.empty() || form.access == RowAccess::elements || form.dtype == DType::f32) return std::nullopt;
  std::optional<LinearTiles> best;
  for (const TileGroup& group : kGroups) {
    const LinearTiles tiles{caps.tiles.front(), group, static_cast<uint32_t>(caps.max_subgroup_size)};
    const TileProduct product = product_of(tiles);
    const TileShape block = product.block();
    const uint32_t unit = form.access == RowAccess::blocks ? 16 : 8;
    if (!product.fits(caps) || block.k % unit != 0 || WeightSource::units(product.left_slice(), unit) % product.lanes() != 0) continue;
    best = tiles;
    // A large block pays even where a quarter of the device has none (on an H200, of three quarters, one, and one and a half).
    if (4 * ((rows + block.m - 1) / block.m) * ((tokens + block.n - 1) / block.n) >= 3 * int64_t{caps.compute_units}) break;
  }
  return best;
}

ir::Kernel linear_tiles(const LinearForm& form, const LinearTiles& tiles) {
  WICK_ASSERT(!form.gated);
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
  if (form.dtype == DType::f16) {  // taken as it lies
    const WordSource::Matrix matrix{weight.words(), weight.offset() / 2U, weight.row_stride() / 2U, rows, columns / 2U};
    left = std::make_unique<WordSource>(k, matrix, product.left_slice(), WordSource::Depth::along_rows, first_row);
  } else {
    left = std::make_unique<WeightSource>(k, weight, product.left_slice(), first_row, rows, columns);
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
