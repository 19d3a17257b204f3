#include "kernels/matmul.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ir/builder.h"

namespace wick::kernels {

using ir::Element;
using ir::Kernel;
using ir::KernelBuilder;
using ir::Memory;
using ir::TileRole;
using ir::Type;
using ir::Value;
using ir::Variable;
using ir::Vector;

namespace {

constexpr uint32_t kBlock = 64;  // rows and columns of c in a group
constexpr uint32_t kDepth = 16;  // of a and b in shared memory at a time
constexpr uint32_t kPatch = 4;   // rows and columns of c in a lane
constexpr uint32_t kLanes = (kBlock / kPatch) * (kBlock / kPatch);

}  // namespace

Kernel matmul_f32(const DeviceCaps& caps) {
  if (caps.max_group_size < kLanes)
    fail(ErrorCode::unsupported, "matmul_f32 needs groups of {} lanes, {} has {}", kLanes, caps.name, caps.max_group_size);
  KernelBuilder k("matmul_f32", {.group_size = kLanes});
  const Memory a = k.buffer("a", Element::f32), b = k.buffer("b", Element::f32), c = k.output("c", Element::f32);
  const Value m = k.parameter("m", Type::u32), n = k.parameter("n", Type::u32), depth = k.parameter("k", Type::u32);
  // a's slice lies transposed, [depth, row], so that a lane reads its four rows at once.
  const Memory a_slice = k.shared(Element::f32, kDepth * kBlock), b_slice = k.shared(Element::f32, kDepth * kBlock);
  const Value t = k.local_id(), lane_row = t / (kBlock / kPatch) * kPatch, lane_column = t % (kBlock / kPatch) * kPatch;
  const Value first_row = k.group_id(1) * kBlock, first_column = k.group_id(0) * kBlock;

  std::vector<Variable> sums;
  for (uint32_t i = 0; i < kPatch * kPatch; ++i) sums.push_back(k.variable(0.0F));
  k.loop(0, depth, kDepth, [&](const Value& begin) {
    // 1024 elements of each slice, four in a lane; what lies outside is 0.
    for (uint32_t i = 0; i < kBlock * kDepth / kLanes; ++i) {
      const Value e = t + i * kLanes;
      const Value a_row = e / kDepth, a_depth = e % kDepth, b_depth = e / kBlock, b_column = e % kBlock;
      const Value in_a = (first_row + a_row < m) & (begin + a_depth < depth),
                  in_b = (begin + b_depth < depth) & (first_column + b_column < n);
      a_slice[a_depth * kBlock + a_row] = a.load_if(in_a, (first_row + a_row) * depth + begin + a_depth, 0);
      b_slice[e] = b.load_if(in_b, (begin + b_depth) * n + first_column + b_column, 0);
    }
    k.barrier();
    for (uint32_t d = 0; d < kDepth; ++d) {
      const Vector rows = a_slice.load4(lane_row + d * kBlock), columns = b_slice.load4(lane_column + d * kBlock);
      for (uint32_t i = 0; i < kPatch * kPatch; ++i) sums[i] = fma(rows[i / kPatch], columns[i % kPatch], sums[i]);
    }
    k.barrier();
  });
  for (uint32_t i = 0; i < kPatch * kPatch; ++i) {
    const Value row = first_row + lane_row + i / kPatch, column = first_column + lane_column + i % kPatch;
    c.store_if((row < m) & (column < n), row * n + column, sums[i]);
  }
  return k.finish();
}

namespace {

// A slice of a matrix of f16 in shared memory, as words of two elements: rows of `words`, `stride` apart, which keeps the rows that lanes
// read together out of each other's banks.
struct Slice {
  Memory global, shared;
  uint32_t rows, words, lanes;
  [[nodiscard]] uint32_t stride() const { return words + 4; }
  [[nodiscard]] uint32_t size() const { return rows * stride(); }
  // The lane's share of the slice that begins at word `first` of a matrix with rows of `row_words`.
  [[nodiscard]] std::vector<Vector> load(const Value& t, const Value& exists, const Value& first, const Value& row_words) const {
    std::vector<Vector> held;
    for (uint32_t i = 0; i < rows * words / 4; i += lanes) {
      const Value e = (t + i) * 4U;
      held.push_back(global.load4_if(exists, first + e / words * row_words + e % words, 0));
    }
    return held;
  }
  void store(const Value& t, const Value& place, const std::vector<Vector>& held) const {
    for (uint32_t i = 0; i < held.size(); ++i) {
      const Value e = (t + i * lanes) * 4U;
      shared.store(place + e / words * stride() + e % words, {held[i][0], held[i][1], held[i][2], held[i][3]});
    }
  }
};

}  // namespace

Kernel matmul_tiles(const TileShape& shape, uint32_t subgroup_size) {
  const TileShape block = tile_block(shape);
  const uint32_t lanes = 4 * subgroup_size;  // four subgroups, each with 4 × 4 tiles of a quarter of the block
  KernelBuilder k(fmt::format("matmul_tiles_{}x{}x{}_s{}", shape.m, shape.n, shape.k, subgroup_size),
                  {.group_size = lanes, .subgroup_size = subgroup_size});
  const Memory a = k.buffer("a", Element::u32), b = k.buffer("b", Element::u32), c = k.output("c", Element::f32);
  (void)k.parameter("m", Type::u32);
  const Value n = k.parameter("n", Type::u32), depth = k.parameter("k", Type::u32);
  Slice left_slice{a, a, block.m, block.k / 2, lanes}, right_slice{b, b, block.k, block.n / 2, lanes};
  // Two of each: one is filled while the other is multiplied.
  if (block.m * block.k / 8 % lanes != 0 || block.k * block.n / 8 % lanes != 0) {
    fail(ErrorCode::unsupported, "matmul_tiles: tiles of [{}, {}] x [{}, {}] in subgroups of {} lanes", shape.m, shape.k, shape.k, shape.n,
         subgroup_size);
  }
  left_slice.shared = k.shared(Element::u32, 2 * left_slice.size());
  right_slice.shared = k.shared(Element::u32, 2 * right_slice.size());
  const Value t = k.local_id(), first_row = k.group_id(1) * block.m, first_column = k.group_id(0) * block.n;
  const Value row = k.subgroup_id() / 2U * (4 * shape.m), column = k.subgroup_id() % 2U * (4 * shape.n);
  const auto load = [&](const Slice& slice, const Value& begin) {
    const Value exists = begin < depth;
    return &slice == &left_slice ? slice.load(t, exists, (first_row * depth + begin) / 2U, depth / 2U)
                                 : slice.load(t, exists, (begin * n + first_column) / 2U, n / 2U);
  };

  std::array<uint32_t, 4> left{}, right{};
  std::array<uint32_t, 16> sums{};
  for (uint32_t& tile : left) tile = k.tile(TileRole::left, Element::f16, shape.m, shape.k);
  for (uint32_t& tile : right) tile = k.tile(TileRole::right, Element::f16, shape.k, shape.n);
  for (uint32_t& tile : sums) {
    tile = k.tile(TileRole::accumulator, Element::f32, shape.m, shape.n);
    k.tile_fill(tile, 0);
  }
  left_slice.store(t, k.constant(0U), load(left_slice, k.constant(0U)));
  right_slice.store(t, k.constant(0U), load(right_slice, k.constant(0U)));
  k.barrier();
  k.loop(0, depth, block.k, [&](const Value& begin) {
    const Value now = begin / block.k % 2U, next = 1U - now;
    const std::vector<Vector> next_left = load(left_slice, begin + block.k), next_right = load(right_slice, begin + block.k);
    for (uint32_t step = 0; step < block.k; step += shape.k) {
      for (uint32_t i = 0; i < 4; ++i) {
        k.tile_load(left[i], left_slice.shared, now * left_slice.size() + (row + i * shape.m) * left_slice.stride() + step / 2,
                    left_slice.stride());
        k.tile_load(right[i], right_slice.shared, now * right_slice.size() + step * right_slice.stride() + (column + i * shape.n) / 2U,
                    right_slice.stride());
      }
      for (uint32_t i = 0; i < 16; ++i) k.tile_multiply(sums[i], left[i / 4], right[i % 4]);
    }
    left_slice.store(t, next * left_slice.size(), next_left);
    right_slice.store(t, next * right_slice.size(), next_right);
    k.barrier();
  });
  for (uint32_t i = 0; i < 16; ++i) {
    const Value at = (first_row + row + i / 4 * shape.m) * n + first_column + column + i % 4 * shape.n;
    k.tile_store(sums[i], c, at, n);
  }
  return k.finish();
}

}  // namespace wick::kernels
