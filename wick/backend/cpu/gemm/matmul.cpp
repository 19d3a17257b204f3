// Batched matrix product of float operands at any strides: blocked and packed, or, where one side has few rows, straight from memory.
#include <algorithm>
#include <array>
#include <cstring>

#include "wick/backend/cpu/cpu_runtime.h"
#include "wick/backend/cpu/gemm/gemm.h"
#include "wick/backend/cpu/gemm/matrix_source.h"
#include "wick/backend/cpu/op_table.h"

namespace wick::cpu {
namespace {

// Columns of a thin product that one share takes at once.
constexpr int64_t kThinColumns = 512;

struct Problem {
  CpuRuntime* runtime;
  int64_t batches, m, k, n;
  const Layout* left;
  const Layout* right;
  DType dtype;
  const std::byte* left_data;
  const std::byte* right_data;
  std::byte* out;
};

Problem problem_of(const OpCall& call) {
  const Operand& left = call.inputs[0];
  const Operand& right = call.inputs[1];
  const int rank = left.layout->rank();
  const Shape& shape = left.layout->shape();
  const Shape& result = call.outputs[0].layout->shape();
  const int64_t m = shape[rank - 2];
  const int64_t n = result[rank - 1];
  int64_t batches = 1;
  for (int dim = 0; dim < rank - 2; ++dim) batches *= shape[dim];
  return {&runtime_of(call),
          batches,
          m,
          shape[rank - 1],
          n,
          left.layout,
          right.layout,
          left.dtype,
          left.buffer->host_data(),
          right.buffer->host_data(),
          call.outputs[0].buffer->host_data() + call.outputs[0].layout->offset() * info(left.dtype).block_bytes};
}

// Matrix `batch` of an operand whose batch dimensions are counted in row-major order.
MatrixSource matrix_of(const Layout& layout, DType dtype, const std::byte* data, int64_t batch) {
  const int rank = layout.rank();
  int64_t offset = layout.offset();
  for (int dim = rank - 3; dim >= 0; --dim) {
    offset += batch % layout.shape()[dim] * layout.stride(dim);
    batch /= layout.shape()[dim];
  }
  return {data + offset * info(dtype).block_bytes, dtype, layout.stride(rank - 2), layout.stride(rank - 1)};
}

MatrixSource left_of(const Problem& problem, int64_t batch) { return matrix_of(*problem.left, problem.dtype, problem.left_data, batch); }
MatrixSource right_of(const Problem& problem, int64_t batch) { return matrix_of(*problem.right, problem.dtype, problem.right_data, batch); }
std::byte* result_of(const Problem& problem, int64_t batch) {
  return problem.out + batch * problem.m * problem.n * info(problem.dtype).block_bytes;
}

ProductExtents extents_of(const Problem& problem, int64_t tile_rows, int64_t tile_columns) {
  return {problem.batches, problem.m, problem.n, problem.k, tile_rows, tile_columns};
}

// Rows of the right operand that no second left panel would read again are not worth packing.
template <class T>
DirectRight<T> direct_right(const MatrixSource& right, DType dtype, int64_t rows, int64_t tile_rows) {
  if (rows > tile_rows || right.dtype != dtype || right.column_stride != 1) return {};
  return {reinterpret_cast<const T*>(right.data), right.row_stride};
}

// Sums of type T written where they belong.
template <class T>
void multiply_in_place(const Problem& problem, const ProductTile<T, T>& tile, DType dtype) {
  for_each_part(problem.runtime->threads(), extents_of(problem, tile.rows, tile.columns),
                [&](int thread, int64_t batch, int64_t row_begin, int64_t row_end, int64_t column_begin, int64_t column_end) {
                  const SimdKernels& kernels = problem.runtime->kernels();
                  Scratch& scratch = problem.runtime->scratch(thread);
                  const MatrixSource left = left_of(problem, batch);
                  const MatrixSource right = right_of(problem, batch);
                  T* out = reinterpret_cast<T*>(result_of(problem, batch));
                  const ProductOperands operands{
                      [&](int64_t row, int64_t rows, int64_t depth, int64_t part, T* packed) {
                        pack_rows(kernels, scratch, left.at(row, depth), {packed, kProductStride, rows, part});
                      },
                      [&](int64_t depth, int64_t part, int64_t column, int64_t columns, T* packed) {
                        pack_rows(kernels, scratch, right.at(depth, column), {packed, tile.columns, part, columns});
                      },
                      direct_right<T>(right, dtype, row_end - row_begin, tile.rows), ProductSources{left, right}};
                  const ProductRegion region{row_begin, row_end, column_begin, column_end, problem.k, row_end - row_begin};
                  RegionProduct(tile, scratch, region, operands).run_in_place([&](int64_t row, int64_t column) {
                    return ProductTarget<T>{out + row * problem.n + column, problem.n};
                  });
                });
}

// Sums in f32, kept aside until they are complete and then rounded once. `step`: columns of the left operand in a packed element.
// pack_left and pack_right (scratch, source, elements along the sum, out).
template <class Packed, class PackLeft, class PackRight>
void multiply_and_round(const Problem& problem, const ProductTile<Packed, float>& tile, int64_t step, const PackLeft& pack_left,
                        const PackRight& pack_right) {
  for_each_part(
      problem.runtime->threads(), extents_of(problem, tile.rows, tile.columns),
      [&](int thread, int64_t batch, int64_t row_begin, int64_t row_end, int64_t column_begin, int64_t column_end) {
        Scratch& scratch = problem.runtime->scratch(thread);
        const MatrixSource left = left_of(problem, batch);
        const MatrixSource right = right_of(problem, batch);
        const int64_t element = info(problem.dtype).block_bytes;
        std::byte* out = result_of(problem, batch);
        const ProductOperands operands{[&](int64_t row, int64_t rows, int64_t depth, int64_t part, Packed* packed) {
                                         const int64_t width = std::min(part * step, problem.k - depth * step);
                                         pack_left(scratch, left.at(row, depth * step), width, {packed, kProductStride, rows, part});
                                       },
                                       [&](int64_t depth, int64_t part, int64_t column, int64_t columns, Packed* packed) {
                                         const int64_t width = std::min(part * step, problem.k - depth * step);
                                         pack_right(scratch, right.at(depth * step, column), width, {packed, tile.columns, part, columns});
                                       },
                                       DirectRight<Packed>{}, ProductSources{left, right, step}};
        const ProductRegion region{
            row_begin, row_end, column_begin, column_end, (problem.k + step - 1) / step, even_passes(row_end - row_begin, tile.rows)};
        RegionProduct(tile, scratch, region, operands)
            .run_aside(scratch, [&](int64_t row, int64_t column, int64_t columns, const float* sums) {
              narrow(problem.runtime->kernels(), sums, columns, problem.dtype, out + (row * problem.n + column) * element);
            });
      });
}

// How a product with few rows reads its other operand where it lies.
enum class ThinWay { none, rows, columns };

// few [rows, k] times many [k, columns]; `transposed`: the result's rows are the columns of the product.
struct ThinProblem {
  MatrixSource few;
  MatrixSource many;
  int64_t rows;
  int64_t columns;
  bool transposed;
  ThinWay way;
};

ThinWay thin_way(const ProductKernels& kernels, DType dtype, const Layout& many, bool transposed) {
  const bool has_kernel = dtype == DType::f32 || dtype == DType::bf16 || (dtype == DType::f16 && kernels.thin_f16 != nullptr);
  if (!has_kernel) return ThinWay::none;
  const int rank = many.rank();
  if (many.stride(transposed ? rank - 2 : rank - 1) == 1) return ThinWay::rows;
  return many.stride(transposed ? rank - 1 : rank - 2) == 1 ? ThinWay::columns : ThinWay::none;
}

template <class T>
struct ThinKernels {
  ThinProduct<T> by_rows;
  SimdKernels::Panel<T> by_columns;
};

// out [few.rows, columns]: the product's columns from `column` on.
template <class T>
void multiply_thin_part(const ThinKernels<T>& kernels, const ThinProblem& thin, const MatrixView<const float>& few, int64_t column,
                        const MatrixView<float>& out) {
  const T* many = reinterpret_cast<const T*>(thin.many.at(0, column).data);
  if (thin.way == ThinWay::rows) return kernels.by_rows(few, {many, thin.many.row_stride, few.columns, out.columns}, out);
  const int64_t stride = thin.many.column_stride;
  for (int64_t at = 0; at < out.columns; at += kPanelRows) {
    const int64_t count = std::min(kPanelRows, out.columns - at);
    kernels.by_columns({many + at * stride, stride, count, few.columns}, few, out.part(0, at, out.rows, count));
  }
}

void multiply_thin_part(const Problem& problem, const ThinProblem& thin, const MatrixView<const float>& few, int64_t column,
                        const MatrixView<float>& out) {
  const SimdKernels& kernels = problem.runtime->kernels();
  const ProductKernels& product = kernels.product;
  switch (problem.dtype) {
    case DType::f16: return multiply_thin_part<f16>({product.thin_f16, kernels.panel_f16}, thin, few, column, out);
    case DType::bf16: return multiply_thin_part<bf16>({product.thin_bf16, kernels.panel_bf16}, thin, few, column, out);
    default: return multiply_thin_part<float>({product.thin_f32, kernels.panel}, thin, few, column, out);
  }
}

// Columns [column, column + sums.columns) of the product, rounded, to where they belong in the result.
void store_thin_part(const Problem& problem, const ThinProblem& thin, const MatrixView<const float>& sums, int64_t column, std::byte* out) {
  const SimdKernels& kernels = problem.runtime->kernels();
  const int64_t element = info(problem.dtype).block_bytes;
  if (!thin.transposed || thin.rows == 1) {
    for (int64_t row = 0; row < thin.rows; ++row)
      narrow(kernels, sums.row(row), sums.columns, problem.dtype, out + (row * thin.columns + column) * element);
    return;
  }
  for (int64_t at = 0; at < sums.columns; ++at) {
    std::array<float, kThinRows> gathered{};
    for (int64_t row = 0; row < thin.rows; ++row) gathered[static_cast<size_t>(row)] = sums.row(row)[at];
    narrow(kernels, gathered.data(), thin.rows, problem.dtype, out + (column + at) * thin.rows * element);
  }
}

void multiply_thin(const Problem& problem, ThinWay way, bool transposed) {
  ThreadPool& pool = problem.runtime->threads();
  const SimdKernels& kernels = problem.runtime->kernels();
  const int64_t rows = transposed ? problem.n : problem.m;
  const int64_t all_columns = transposed ? problem.m : problem.n;
  const int64_t chunks = (all_columns + kThinColumns - 1) / kThinColumns;
  const auto share = [&](int thread, int64_t first, int64_t last) {
    Scratch& scratch = problem.runtime->scratch(thread);
    ScratchFrame frame(scratch);
    auto* few = frame.take<float>(static_cast<size_t>(rows * problem.k));
    auto* sums = frame.take<float>(static_cast<size_t>(rows * kThinColumns));
    int64_t packed_batch = -1;
    ThinProblem thin{};
    for (int64_t task = first; task < last; ++task) {
      const int64_t batch = task / chunks;
      if (batch != packed_batch) {
        const MatrixSource left = left_of(problem, batch);
        const MatrixSource right = right_of(problem, batch);
        thin = {transposed ? right.transposed() : left, transposed ? left.transposed() : right, rows, all_columns, transposed, way};
        pack_rows(kernels, scratch, thin.few, {few, problem.k, rows, problem.k});
        packed_batch = batch;
      }
      const int64_t column = task % chunks * kThinColumns;
      const int64_t columns = std::min(kThinColumns, all_columns - column);
      const MatrixView<float> part{sums, columns, rows, columns};
      multiply_thin_part(problem, thin, {few, problem.k, rows, problem.k}, column, part);
      store_thin_part(problem, thin, part, column, result_of(problem, batch));
    }
  };
  const int64_t tasks = problem.batches * chunks;
  if (pool.size() == 1 || tasks == 1 || problem.batches * rows * all_columns * problem.k < kParallelWork) return share(0, 0, tasks);
  pool.run([&](int thread, int threads) { share(thread, tasks * thread / threads, tasks * (thread + 1) / threads); });
}

// Products in which one side has so few rows that each element of the other is read about once.
bool try_thin(const Problem& problem) {
  const bool transposed = problem.m > kThinRows;
  if (std::min(problem.m, problem.n) > kThinRows || std::max(problem.m, problem.n) < 2 * kThinRows) return false;
  const ThinWay way = thin_way(problem.runtime->kernels().product, problem.dtype, transposed ? *problem.left : *problem.right, transposed);
  if (way == ThinWay::none) return false;
  multiply_thin(problem, way, transposed);
  return true;
}

}  // namespace

void matmul_f32(const OpCall& call) {
  const Problem problem = problem_of(call);
  if (!try_thin(problem)) multiply_in_place(problem, problem.runtime->kernels().product.f32, DType::f32);
}

void matmul_f64(const OpCall& call) {
  const Problem problem = problem_of(call);
  multiply_in_place(problem, problem.runtime->kernels().product.f64, DType::f64);
}

void matmul_narrow(const OpCall& call) {
  const Problem problem = problem_of(call);
  if (try_thin(problem)) return;
  const SimdKernels& kernels = problem.runtime->kernels();
  const ProductTile<uint32_t, float>& pairs = kernels.product.bf16_pairs;
  if (problem.dtype == DType::bf16 && kernels.product.prefers_bf16_pairs) {
    return multiply_and_round<uint32_t>(
        problem, pairs, 2,
        [&](Scratch& scratch, const MatrixSource& source, int64_t width, const MatrixView<uint32_t>& out) {
          pack_row_pairs(kernels, scratch, source, width, out);
        },
        [&](Scratch& scratch, const MatrixSource& source, int64_t width, const MatrixView<uint32_t>& out) {
          pack_column_pairs(kernels, scratch, source, width, out);
        });
  }
  const ProductTile<float, float>& tile = kernels.product.f32;
  const auto pack = [&](Scratch& scratch, const MatrixSource& source, int64_t /*width*/, const MatrixView<float>& out) {
    pack_rows(kernels, scratch, source, out);
  };
  multiply_and_round<float>(problem, tile, 1, pack, pack);
}

}  // namespace wick::cpu
