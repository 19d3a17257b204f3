#include "wick/kernels/matmul.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "wick/base/error.h"
#include "wick/tensor/ops/launchers/launcher.h"
#include "wick/tensor/ops/launchers/launchers.h"

namespace wick::launchers {
namespace {

// One dimension of batches, as both operands step through it.
struct Batch {
  int64_t extent = 1;
  int64_t a_stride = 0;
  int64_t b_stride = 0;
};

struct Problem {
  int64_t m = 1, n = 1, k = 1;
  const Operand *a = nullptr, *b = nullptr, *c = nullptr;
  std::vector<Batch> batches;  // at least two
};

Problem problem_of(const OpCall& call) {
  Problem p;
  p.a = &call.inputs[0];
  p.b = &call.inputs[1];
  p.c = &call.outputs[0];
  for (const Operand* operand : {p.a, p.b, p.c}) check_range(*operand);
  const Layout &a = *p.a->layout, &b = *p.b->layout;
  const int matrix = a.rank() - 2;
  p.m = a.shape()[matrix];
  p.k = a.shape()[matrix + 1];
  p.n = b.shape()[matrix + 1];
  for (int dim = 0; dim < matrix; ++dim) {
    const Batch next{a.shape()[dim], a.stride(dim), b.stride(dim)};
    if (next.extent == 1) continue;
    Batch* last = p.batches.empty() ? nullptr : &p.batches.back();
    if (last != nullptr && last->a_stride == next.a_stride * next.extent && last->b_stride == next.b_stride * next.extent) {
      *last = {last->extent * next.extent, next.a_stride, next.b_stride};
    } else {
      p.batches.push_back(next);
    }
  }
  while (p.batches.size() < 2) p.batches.insert(p.batches.begin(), Batch{});
  return p;
}

// Neighbouring elements along the columns, and the rest in steps of whole vectors of eight.
bool fits_tiles(const Operand& operand) {
  const Layout& layout = *operand.layout;
  for (int dim = 0; dim + 1 < layout.rank(); ++dim) {
    if (layout.shape()[dim] > 1 && layout.stride(dim) % 8 != 0) return false;
  }
  return layout.stride(layout.rank() - 1) == 1 && layout.shape().last() % 8 == 0 && layout.offset() % 8 == 0;
}

struct Choice {
  const Program* program;
  ir::Grid grid;  // of one batch
};

std::optional<Choice> by_tiles(Runtime& runtime, const Problem& p) {
  const DeviceCaps& caps = runtime.caps();
  if (p.a->dtype != DType::f16 || caps.tiles.empty() || !fits_tiles(*p.a) || !fits_tiles(*p.b)) return std::nullopt;
  const TileShape shape = caps.tiles.front(), block = kernels::tile_block(shape);
  const auto subgroup = static_cast<uint32_t>(caps.max_subgroup_size);
  // A block of c is worth it where it is filled to a good part.
  if (2 * p.m < block.m || 2 * p.n < block.n || p.k < block.k || !kernels::tiles_fit(shape, subgroup, caps)) return std::nullopt;
  const Program& program = runtime.program({"matmul_tiles", {subgroup}}, [&] { return kernels::matmul_tiles(shape, subgroup); });
  return Choice{&program, {groups_along(p.n, block.n), groups_along(p.m, block.m), 1}};
}

Choice choose(Runtime& runtime, const Problem& p) {
  const DeviceCaps& caps = runtime.caps();
  if (const std::optional<Choice> tiles = by_tiles(runtime, p)) return *tiles;
  const DType dtype = p.a->dtype;
  const auto number = number_of(dtype);
  constexpr int64_t kFewRows = 8, kFewElements = 4096, kDeep = 256;
  if (std::min(p.m, p.n) < kFewRows || p.m * p.n * p.batches.back().extent <= kFewElements) {
    const auto lanes = p.k >= kDeep && p.m * p.n <= kFewElements ? kernels::RowLanes::group : kernels::RowLanes::one;
    const Program& program = runtime.program({"matmul_elements", {number, static_cast<uint32_t>(lanes)}},
                                             [&] { return kernels::matmul_elements(dtype, lanes, caps); });
    const int64_t count = p.m * p.n;
    return {&program, lanes == kernels::RowLanes::group ? group_grid(program, count, caps)
                                                        : kernels::groups_for(program.kernel(), static_cast<uint64_t>(count), caps)};
  }
  const Program& program = runtime.program({"matmul_blocks", {number}}, [&] { return kernels::matmul_blocks(dtype, caps); });
  const kernels::MatmulBlock block = kernels::matmul_block(caps);
  return {&program, {groups_along(p.n, block.columns), groups_along(p.m, block.rows), 1}};
}

// Two dimensions of batches, from these offsets on.
void launch_batches(Runtime& runtime, const Problem& p, const Choice& choice, int64_t a_offset, int64_t b_offset, int64_t c_offset) {
  const Batch &outer = p.batches[p.batches.size() - 2], &inner = p.batches.back();
  const auto matrix = [](Arguments& arguments, const Layout& layout, int64_t offset, int64_t outer_stride, int64_t inner_stride) {
    arguments.size(offset).stride(layout.stride(layout.rank() - 2)).stride(layout.stride(layout.rank() - 1));
    arguments.stride(outer_stride).stride(inner_stride);
  };
  const int64_t count = outer.extent * inner.extent, at_once = runtime.caps().max_group_count[2];
  for (int64_t first = 0; first < count; first += at_once) {
    Arguments arguments;
    arguments.buffer(*p.a).buffer(*p.b).buffer(*p.c).size(p.m).size(p.n).size(p.k);
    matrix(arguments, *p.a->layout, a_offset, outer.a_stride, inner.a_stride);
    matrix(arguments, *p.b->layout, b_offset, outer.b_stride, inner.b_stride);
    arguments.size(c_offset).size(inner.extent).size(first);
    ir::Grid grid = choice.grid;
    grid.z = static_cast<uint32_t>(std::min(at_once, count - first));
    launch(runtime, *choice.program, grid, arguments);
  }
}

}  // namespace

void matmul(const OpCall& call) {
  Runtime& runtime = *call.runtime;
  const Problem p = problem_of(call);
  const Choice choice = choose(runtime, p);
  // What two dimensions do not hold is walked here; the results lie one behind the other.
  const size_t walked = p.batches.size() - 2;
  int64_t rounds = 1;
  for (size_t d = 0; d < walked; ++d) rounds *= p.batches[d].extent;
  const int64_t elements = p.m * p.n * p.batches[walked].extent * p.batches[walked + 1].extent;
  for (int64_t round = 0; round < rounds; ++round) {
    int64_t a_offset = p.a->layout->offset(), b_offset = p.b->layout->offset();
    int64_t rest = round;
    for (size_t d = walked; d > 0; --d) {
      const Batch& batch = p.batches[d - 1];
      a_offset += rest % batch.extent * batch.a_stride;
      b_offset += rest % batch.extent * batch.b_stride;
      rest /= batch.extent;
    }
    launch_batches(runtime, p, choice, a_offset, b_offset, first_of(*p.c) + round * elements);
  }
}

}  // namespace wick::launchers
