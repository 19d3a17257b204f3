#include "wick/kernels/tile_product.h"

#include <limits>
#include <utility>

namespace wick::kernels {

using namespace ir;

namespace {

constexpr float kLargestHalf = 65504;
// Of numbers that have a scale, at most 128 in size, and an offset: together no more than an f16 holds.
constexpr float kLargestScale = 255, kLargestOffset = 32000;

// Larger numbers become the limit; infinities and NaNs stay what they are.
Value limited(const Value& value, float limit) {
  const Value size = abs(value);
  return select((size > limit) & (size <= std::numeric_limits<float>::max()), max(min(value, limit), -limit), value);
}

}  // namespace

Value pack_limited(const Value& low, const Value& high) { return pack_halves(limited(low, kLargestHalf), limited(high, kLargestHalf)); }

void store_halves(const Memory& words, const Value& place, const UnitSource::Unit& unit) {
  WeightUnit numbers = unit.numbers;
  if (numbers.scale) numbers.scale = limited(*numbers.scale, kLargestScale);
  if (numbers.offset) numbers.offset = limited(*numbers.offset, kLargestOffset);
  const auto word = [&](uint32_t i) {
    const Value low = numbers.element(2 * i), high = numbers.element(2 * i + 1);
    return select(unit.exists, numbers.scale ? pack_halves(low, high) : pack_limited(low, high), 0U);
  };
  for (uint32_t i = 0; i < numbers.numbers.size() / 2; i += 4) words.store(place + i, {word(i), word(i + 1), word(i + 2), word(i + 3)});
}

WordSource::WordSource(KernelBuilder& k, Matrix matrix, SliceShape shape, Depth depth, Value across)
    : k_(k), matrix_(std::move(matrix)), shape_(shape), depth_(depth), across_(across) {}

// Elements outside are 0.
void WordSource::load(const Value& depth) {
  held_.clear();
  const Value first_row = depth_ == Depth::along_rows ? across_ : depth;
  const Value first_word = (depth_ == Depth::along_rows ? depth : across_) / 2U;
  for (uint32_t i = 0; i < shape_.rows * shape_.words / 4; i += k_.kernel().group_size) {
    const Value e = (k_.local_id() + i) * 4U, row = first_row + e / shape_.words, word = first_word + e % shape_.words;
    const Value exists = (row < matrix_.height) & (word < matrix_.words);
    const Value place = matrix_.place ? matrix_.place(row) : matrix_.first + row * matrix_.row_words;
    held_.push_back(matrix_.memory.load4_if(exists, place + word, 0));
  }
}

void WordSource::store(const Memory& shared, const Value& place) const {
  for (uint32_t i = 0; i < held_.size(); ++i) {
    const Value e = (k_.local_id() + i * k_.kernel().group_size) * 4U;
    const Vector& four = held_[i];
    shared.store(place + e / shape_.words * shape_.stride() + e % shape_.words, {four[0], four[1], four[2], four[3]});
  }
}

UnitSource::UnitSource(KernelBuilder& k, uint32_t unit, SliceShape shape, Read read)
    : k_(k), unit_(unit), shape_(shape), read_(std::move(read)) {}

void UnitSource::load(const Value& depth) {
  held_.clear();
  for (uint32_t i = 0; i < units(shape_, unit_); i += k_.kernel().group_size) {
    const Value e = k_.local_id() + i;
    held_.push_back(read_(e / per_row(), e % per_row() * unit_, depth));
  }
}

void UnitSource::store(const Memory& shared, const Value& place) const {
  for (uint32_t i = 0; i < held_.size(); ++i) {
    const Value e = k_.local_id() + i * k_.kernel().group_size;
    store_halves(shared, place + e / per_row() * shape_.stride() + e % per_row() * (unit_ / 2), held_[i]);
  }
}

bool TileProduct::fits(const DeviceCaps& caps) const {
  const uint64_t patches = uint64_t{group_.subgroups()} * tile_.m * tile_.n;
  const uint64_t shared_bytes = sizeof(uint32_t) * (2 * (left_slice().size() + right_slice().size()) + patches);
  return is_even() && lanes() <= caps.max_group_size && shared_bytes <= caps.max_shared_bytes;
}

void TileProduct::run(KernelBuilder& k, const Value& depth, TileSource& left, TileSource& right,
                      const std::function<void(const Value&, const Value&, const Value&)>& result, bool along_columns) const {
  // Two slices of each: one is filled while the other is multiplied.
  const uint32_t left_size = left_slice().size(), right_size = right_slice().size();
  const uint32_t left_stride = left_slice().stride(), right_stride = right_slice().stride();
  const Memory left_shared = k.shared(Element::u32, 2 * left_size), right_shared = k.shared(Element::u32, 2 * right_size);
  const uint32_t tile_rows = group_.tile_rows, tile_columns = group_.tile_columns;
  const Value row = k.subgroup_id() / group_.subgroup_columns * (tile_rows * tile_.m);
  const Value column = k.subgroup_id() % group_.subgroup_columns * (tile_columns * tile_.n);

  std::vector<uint32_t> lefts, rights, sums;
  for (uint32_t i = 0; i < tile_rows; ++i) lefts.push_back(k.tile(TileRole::left, Element::f16, tile_.m, tile_.k));
  for (uint32_t i = 0; i < tile_columns; ++i) rights.push_back(k.tile(TileRole::right, Element::f16, tile_.k, tile_.n));
  for (uint32_t i = 0; i < tile_rows * tile_columns; ++i) {
    sums.push_back(k.tile(TileRole::accumulator, Element::f32, tile_.m, tile_.n));
    k.tile_fill(sums[i], 0);
  }
  left.load(k.constant(0U));
  right.load(k.constant(0U));
  left.store(left_shared, k.constant(0U));
  right.store(right_shared, k.constant(0U));
  k.barrier();
  k.loop(0, depth, block().k, [&](const Value& begin) {
    const Value now = begin / block().k % 2U, next = 1U - now;
    left.load(begin + block().k);
    right.load(begin + block().k);
    for (uint32_t step = 0; step < block().k; step += tile_.k) {
      for (uint32_t i = 0; i < tile_rows; ++i) {
        k.tile_load(lefts[i], left_shared, now * left_size + (row + i * tile_.m) * left_stride + step / 2, left_stride);
      }
      for (uint32_t i = 0; i < tile_columns; ++i) {
        k.tile_load(rights[i], right_shared, now * right_size + step * right_stride + (column + i * tile_.n) / 2U, right_stride);
      }
      for (uint32_t i = 0; i < tile_rows; ++i) {
        for (uint32_t j = 0; j < tile_columns; ++j) k.tile_multiply(sums[i * tile_columns + j], lefts[i], rights[j]);
      }
    }
    left.store(left_shared, next * left_size);
    right.store(right_shared, next * right_size);
    k.barrier();
  });
  // Through shared memory, as lanes must look at the bounds.
  const uint32_t elements = tile_.m * tile_.n;
  const Memory patch = k.shared(Element::f32, group_.subgroups() * elements);
  const Value first = k.subgroup_id() * elements;
  for (uint32_t i = 0; i < sums.size(); ++i) {
    k.tile_store(sums[i], patch, first, k.constant(tile_.n));
    k.barrier();
    for (uint32_t j = 0; j < elements; j += subgroup_size_) {
      const Value e = k.subgroup_lane() + j;
      const Value in_row = along_columns ? e % tile_.m : e / tile_.n, in_column = along_columns ? e / tile_.m : e % tile_.n;
      result(row + i / tile_columns * tile_.m + in_row, column + i % tile_columns * tile_.n + in_column,
             patch[first + in_row * tile_.n + in_column]);
    }
    k.barrier();
  }
}

}  // namespace wick::kernels
