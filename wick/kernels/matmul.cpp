#include "wick/kernels/matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "wick/base/fail.h"
#include "wick/kernels/group_options.h"
#include "wick/kernels/numbers.h"
#include "wick/kernels/strided.h"
#include "wick/kernels/tile_product.h"

namespace wick::kernels {

using namespace ir;

namespace {

constexpr uint32_t kColumns = 64;   // of c in a group
constexpr uint32_t kPatchSide = 4;  // rows and columns of c in a lane

// The parameters of all kernels here, and where this group's matrices begin.
struct Problem {
  struct Matrix {
    Value offset, row_stride, column_stride, outer_stride, inner_stride;
  };
  Value m, n, depth;
  Matrix a, b;
  Value c_offset, batch_extent, first_batch;

  explicit Problem(KernelBuilder& k)
      : m(u32(k, "m")),
        n(u32(k, "n")),
        depth(u32(k, "k")),
        a(matrix(k, 'a')),
        b(matrix(k, 'b')),
        c_offset(u32(k, "c_offset")),
        batch_extent(u32(k, "batch_extent")),
        first_batch(u32(k, "first_batch")),
        batch_(first_batch + k.group_id(2)) {}

  [[nodiscard]] Value first(const Matrix& matrix) const {
    return matrix.offset + batch_ / batch_extent * matrix.outer_stride + batch_ % batch_extent * matrix.inner_stride;
  }
  [[nodiscard]] Value first_of_c() const { return c_offset + batch_ * (m * n); }

 private:
  static Value u32(KernelBuilder& k, const std::string& name) { return k.parameter(name, Type::u32); }
  static Matrix matrix(KernelBuilder& k, char name) {
    Matrix matrix;
    matrix.offset = u32(k, fmt::format("{}_offset", name));
    matrix.row_stride = u32(k, fmt::format("{}_row_stride", name));
    matrix.column_stride = u32(k, fmt::format("{}_column_stride", name));
    matrix.outer_stride = u32(k, fmt::format("{}_outer_stride", name));
    matrix.inner_stride = u32(k, fmt::format("{}_inner_stride", name));
    return matrix;
  }

  Value batch_;
};

// A slice of a matrix in shared memory, [depth, width]: of a the width is that of rows, of b that of columns.
struct MatrixSlice {
  Memory global, shared;
  uint32_t depth, width;
  Value first, depth_stride, width_stride, depth_end, width_end;

  // Every lane loads its part; elements outside are 0. Neighbouring lanes load along the densest dimension.
  void fill(KernelBuilder& k, DType dtype, const Value& begin, const Value& first_width) const {
    const Value dense_depth = depth_stride == 1U;
    for (uint32_t i = 0; i < depth * width; i += k.kernel().group_size) {
      const Value e = k.local_id() + i;
      const Value d = select(dense_depth, e % depth, e / width), w = select(dense_depth, e / depth, e % width);
      const Value exists = (begin + d < depth_end) & (first_width + w < width_end);
      const Value index = first + (begin + d) * depth_stride + (first_width + w) * width_stride;
      shared.store(d * width + w, load_number_if(global, dtype, exists, index));
    }
  }
  // Four neighbours of the width.
  [[nodiscard]] std::array<Value, kPatchSide> four(Type type, const Value& at) const {
    if (type == Type::f64) return {shared.load(at), shared.load(at + 1U), shared.load(at + 2U), shared.load(at + 3U)};
    const Vector vector = shared.load4(at);
    return {vector[0], vector[1], vector[2], vector[3]};
  }
};

}  // namespace

MatmulBlock matmul_block(const DeviceCaps& caps) {
  return {group_options(caps, 256).group_size / (kColumns / kPatchSide) * kPatchSide, kColumns};
}

Kernel matmul_blocks(DType dtype, const DeviceCaps& caps) {
  const Type type = compute_type(dtype);
  const uint32_t slice_depth = type == Type::f64 ? 8 : 16;
  KernelBuilder k(fmt::format("matmul_blocks_{}", to_string(dtype)), {.group_size = group_options(caps, 256).group_size});
  const MatmulBlock block = matmul_block(caps);
  const Memory a = k.buffer("a", element_of(dtype)), b = k.buffer("b", element_of(dtype)), c = k.output("c", element_of(dtype));
  const Problem p(k);
  const Element number = type == Type::f64 ? Element::f64 : Element::f32;
  const MatrixSlice a_slice{
      a,  k.shared(number, slice_depth * block.rows), slice_depth, block.rows, p.first(p.a), p.a.column_stride, p.a.row_stride, p.depth,
      p.m};
  const MatrixSlice b_slice{b,
                            k.shared(number, slice_depth * block.columns),
                            slice_depth,
                            block.columns,
                            p.first(p.b),
                            p.b.row_stride,
                            p.b.column_stride,
                            p.depth,
                            p.n};
  const Value t = k.local_id(), lane_row = t / (kColumns / kPatchSide) * kPatchSide, lane_column = t % (kColumns / kPatchSide) * kPatchSide;
  const Value first_row = k.group_id(1) * block.rows, first_column = k.group_id(0) * block.columns;

  std::vector<Variable> sums;
  for (uint32_t i = 0; i < kPatchSide * kPatchSide; ++i) sums.push_back(k.variable(k.number_of(type, 0, 0)));
  k.loop(0, p.depth, slice_depth, [&](const Value& begin) {
    a_slice.fill(k, dtype, begin, first_row);
    b_slice.fill(k, dtype, begin, first_column);
    k.barrier();
    for (uint32_t d = 0; d < slice_depth; ++d) {
      const auto rows = a_slice.four(type, lane_row + d * block.rows), columns = b_slice.four(type, lane_column + d * block.columns);
      for (uint32_t i = 0; i < kPatchSide * kPatchSide; ++i) sums[i] = fma(rows[i / kPatchSide], columns[i % kPatchSide], sums[i]);
    }
    k.barrier();
  });
  const Value first = p.first_of_c();
  for (uint32_t i = 0; i < kPatchSide * kPatchSide; ++i) {
    const Value row = first_row + lane_row + i / kPatchSide, column = first_column + lane_column + i % kPatchSide;
    k.when((row < p.m) & (column < p.n), [&] { store_number(c, dtype, first + row * p.n + column, sums[i]); });
  }
  return k.finish();
}

Kernel matmul_elements(DType dtype, RowLanes lanes, const DeviceCaps& caps) {
  const Type type = compute_type(dtype);
  const ir::KernelOptions options = row_options(lanes, caps);
  KernelBuilder k(fmt::format("matmul_elements_{}{}", to_string(dtype), row_suffix(lanes, options)), options);
  const Memory a = k.buffer("a", element_of(dtype)), b = k.buffer("b", element_of(dtype)), c = k.output("c", element_of(dtype));
  const Problem p(k);
  const Value element = lanes == RowLanes::one ? global_lane(k) : k.group_id(1) * k.group_count(0) + k.group_id(0);
  GroupReduce group(k, type);
  k.when(element < p.m * p.n, [&] {
    const Value a_first = p.first(p.a) + element / p.n * p.a.row_stride, b_first = p.first(p.b) + element % p.n * p.b.column_stride;
    Variable sum = k.variable(k.number_of(type, 0, 0));
    const auto add = [&](const Value& d) {
      sum = fma(load_number(a, dtype, a_first + d * p.a.column_stride), load_number(b, dtype, b_first + d * p.b.row_stride), sum);
    };
    if (lanes == RowLanes::one) {
      k.loop(0, p.depth, 1, add);
      return store_number(c, dtype, p.first_of_c() + element, sum);
    }
    k.loop(k.local_id(), p.depth, options.group_size, add);
    const Value whole = group(ir::Reduce::add, sum);
    k.when(k.local_id() == 0, [&] { store_number(c, dtype, p.first_of_c() + element, whole); });
  });
  return k.finish();
}

namespace {

constexpr TileGroup kTileGroup{2, 2, 4, 4};

}  // namespace

TileShape tile_block(const TileShape& shape) { return TileProduct(shape, kTileGroup, 1).block(); }

bool tiles_fit(const TileShape& shape, uint32_t subgroup_size, const DeviceCaps& caps) {
  return TileProduct(shape, kTileGroup, subgroup_size).fits(caps);
}

Kernel matmul_tiles(const TileShape& shape, uint32_t subgroup_size) {
  const TileProduct product(shape, kTileGroup, subgroup_size);
  if (!product.is_even()) {
    fail(ErrorCode::unsupported, "matmul_tiles: tiles of [{}, {}] x [{}, {}] in subgroups of {} lanes", shape.m, shape.k, shape.k, shape.n,
         subgroup_size);
  }
  KernelBuilder k(fmt::format("matmul_tiles_{}x{}x{}_s{}", shape.m, shape.n, shape.k, subgroup_size),
                  {.group_size = product.lanes(), .subgroup_size = subgroup_size});
  const Memory a = k.buffer("a", Element::u32), b = k.buffer("b", Element::u32), c = k.output("c", Element::f16);
  const Problem p(k);
  const Value first_row = k.group_id(1) * product.block().m, first_column = k.group_id(0) * product.block().n;
  const auto words_of = [&](const Memory& memory, const Problem::Matrix& matrix, const Value& height, const Value& width) {
    return WordSource::Matrix{memory, p.first(matrix) / 2U, matrix.row_stride / 2U, height, width / 2U};
  };
  WordSource left(k, words_of(a, p.a, p.m, p.depth), product.left_slice(), WordSource::Depth::along_rows, first_row);
  WordSource right(k, words_of(b, p.b, p.depth, p.n), product.right_slice(), WordSource::Depth::down_columns, first_column);
  const Value c_first = p.first_of_c();
  product.run(k, p.depth, left, right, [&](const Value& row, const Value& column, const Value& value) {
    const Value at_row = first_row + row, at_column = first_column + column;
    c.store_if((at_row < p.m) & (at_column < p.n), c_first + at_row * p.n + at_column, cast(Type::f16, value));
  });
  return k.finish();
}

}  // namespace wick::kernels
