// A group's block of a product of f16 matrices, from matrix tiles: what its kernels share.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "wick/ir/builder.h"
#include "wick/kernels/weight_rows.h"
#include "wick/op/device_caps.h"

namespace wick::kernels {

// Rows of a matrix of f16 in shared memory, as words of two elements. The padding keeps the rows that lanes read together out of each
// other's banks.
struct SliceShape {
  uint32_t rows, words;

  [[nodiscard]] uint32_t stride() const { return words + 4; }
  [[nodiscard]] uint32_t size() const { return rows * stride(); }
};

// Where a slice comes from. load() reads the lane's share of the one that begins at a depth, store() writes it to `place` in shared
// memory: between the two the group multiplies what was there before.
class TileSource {
 public:
  virtual ~TileSource() = default;
  virtual void load(const ir::Value& depth) = 0;
  virtual void store(const ir::Memory& shared, const ir::Value& place) const = 0;
};

// A matrix of words in memory: [height, width], of which a slice of `shape` is taken.
class WordSource final : public TileSource {
 public:
  struct Matrix {
    ir::Memory memory;
    ir::Value first, row_words, height, words;  // in words; multiples of four but for the height
    // Where a row below the height begins, if not at first + row · row_words.
    std::function<ir::Value(const ir::Value& row)> place = {};
  };
  // The depth runs along the rows of the left operand and down the columns of the right one; `across` is the block's begin in the other.
  enum class Depth : uint8_t { along_rows, down_columns };
  WordSource(ir::KernelBuilder& k, Matrix matrix, SliceShape shape, Depth depth, ir::Value across);
  void load(const ir::Value& depth) override;
  void store(const ir::Memory& shared, const ir::Value& place) const override;

 private:
  ir::KernelBuilder& k_;
  Matrix matrix_;
  SliceShape shape_;
  Depth depth_;
  ir::Value across_;
  std::vector<ir::Vector> held_;
};

// Units of rows of numbers of any format, rounded to f16; what f16 does not hold becomes its largest number.
class UnitSource final : public TileSource {
 public:
  // A unit, which counts as zeros unless it exists.
  struct Unit {
    WeightUnit numbers;
    ir::Value exists;
  };
  // Reads part of a slice's row, beginning at a column of it; the slice begins at `depth`.
  using Read = std::function<Unit(const ir::Value& row, const ir::Value& column, const ir::Value& depth)>;
  UnitSource(ir::KernelBuilder& k, uint32_t unit, SliceShape shape, Read read);
  void load(const ir::Value& depth) override;
  void store(const ir::Memory& shared, const ir::Value& place) const override;

  // How many units, each of a multiple of eight elements, a slice has: a multiple of the group's lanes.
  [[nodiscard]] static uint32_t units(const SliceShape& shape, uint32_t unit) { return shape.rows * shape.words * 2 / unit; }

 private:
  [[nodiscard]] uint32_t per_row() const { return shape_.words * 2 / unit_; }

  ir::KernelBuilder& k_;
  uint32_t unit_;
  SliceShape shape_;
  Read read_;
  std::vector<Unit> held_;
};

// The words of a unit, from `place` on; of blocks 8, of vectors of 16-bit floats 4.
void store_halves(const ir::Memory& words, const ir::Value& place, const UnitSource::Unit& unit);

// Two f32 as a word of f16; what f16 does not hold becomes its largest number, but infinities and NaNs stay what they are.
[[nodiscard]] ir::Value pack_limited(const ir::Value& low, const ir::Value& high);

// How a group shares a block: in each of the two directions so many subgroups, each with so many tiles.
struct TileGroup {
  uint32_t subgroup_rows, subgroup_columns;
  uint32_t tile_rows, tile_columns;

  [[nodiscard]] uint32_t subgroups() const { return subgroup_rows * subgroup_columns; }
};

class TileProduct {
 public:
  TileProduct(const TileShape& tile, const TileGroup& group, uint32_t subgroup_size)
      : tile_(tile), group_(group), subgroup_size_(subgroup_size) {}

  // The block of the result that the group computes, and the depth held in shared memory at a time.
  [[nodiscard]] TileShape block() const {
    return {group_.subgroup_rows * group_.tile_rows * tile_.m, group_.subgroup_columns * group_.tile_columns * tile_.n, 2 * tile_.k};
  }
  [[nodiscard]] SliceShape left_slice() const { return {block().m, block().k / 2}; }
  [[nodiscard]] SliceShape right_slice() const { return {block().k, block().n / 2}; }
  [[nodiscard]] uint32_t lanes() const { return group_.subgroups() * subgroup_size_; }
  // Whether the lanes share the slices' vectors evenly.
  [[nodiscard]] bool is_even() const {
    return left_slice().rows * left_slice().words / 4 % lanes() == 0 && right_slice().rows * right_slice().words / 4 % lanes() == 0;
  }
  // Whether, moreover, a device's groups and shared memory are large enough.
  [[nodiscard]] bool fits(const DeviceCaps& caps) const;

  // Σ over `depth` left · right; then `result` for each of the lane's elements, by its row and column in the block. Neighbouring lanes
  // hold neighbours of a row, or with along_columns of a column.
  void run(ir::KernelBuilder& k, const ir::Value& depth, TileSource& left, TileSource& right,
           const std::function<void(const ir::Value& row, const ir::Value& column, const ir::Value& value)>& result,
           bool along_columns = false) const;

 private:
  TileShape tile_;
  TileGroup group_;
  uint32_t subgroup_size_;
};

}  // namespace wick::kernels
