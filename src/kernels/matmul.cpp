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

Kernel matmul_tiles(const TileShape& shape, uint32_t subgroup_size) {
  const TileShape block = tile_block(shape);
  const uint32_t lanes = 4 * subgroup_size;  // four subgroups, each with 2 × 2 tiles of a quarter of the block
  KernelBuilder k(fmt::format("matmul_tiles_{}x{}x{}_s{}", shape.m, shape.n, shape.k, subgroup_size),
                  {.group_size = lanes, .subgroup_size = subgroup_size});
  const Memory a = k.buffer("a", Element::f16), b = k.buffer("b", Element::f16), c = k.output("c", Element::f32);
  (void)k.parameter("m", Type::u32);
  const Value n = k.parameter("n", Type::u32), depth = k.parameter("k", Type::u32);
  const Memory a_slice = k.shared(Element::f16, block.m * shape.k), b_slice = k.shared(Element::f16, shape.k * block.n);
  const Value t = k.local_id(), first_row = k.group_id(1) * block.m, first_column = k.group_id(0) * block.n;
  const Value row = k.subgroup_id() / 2U * (2 * shape.m), column = k.subgroup_id() % 2U * (2 * shape.n);

  std::array<uint32_t, 2> left{}, right{};
  std::array<uint32_t, 4> sums{};
  for (uint32_t& tile : left) tile = k.tile(TileRole::left, Element::f16, shape.m, shape.k);
  for (uint32_t& tile : right) tile = k.tile(TileRole::right, Element::f16, shape.k, shape.n);
  for (uint32_t& tile : sums) {
    tile = k.tile(TileRole::accumulator, Element::f32, shape.m, shape.n);
    k.tile_fill(tile, 0);
  }
  k.loop(0, depth, shape.k, [&](const Value& begin) {
    k.loop(t, block.m * shape.k, lanes, [&](const Value& e) { a_slice[e] = a[(first_row + e / shape.k) * depth + begin + e % shape.k]; });
    k.loop(t, shape.k * block.n, lanes, [&](const Value& e) { b_slice[e] = b[(begin + e / block.n) * n + first_column + e % block.n]; });
    k.barrier();
    for (uint32_t i = 0; i < 2; ++i) {
      k.tile_load(left[i], a_slice, (row + i * shape.m) * shape.k, shape.k);
      k.tile_load(right[i], b_slice, column + i * shape.n, block.n);
    }
    for (uint32_t i = 0; i < 4; ++i) k.tile_multiply(sums[i], left[i / 2], right[i % 2]);
    k.barrier();
  });
  for (uint32_t i = 0; i < 4; ++i) {
    const Value at = (first_row + row + i / 2 * shape.m) * n + first_column + column + i % 2 * shape.n;
    k.tile_store(sums[i], c, at, n);
  }
  return k.finish();
}

}  // namespace wick::kernels
