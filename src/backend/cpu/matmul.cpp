// Batched f32 matrix product. Operands of any strides: a transposed right-hand side is read as rows, anything else is packed by panels.
#include <algorithm>

#include "backend/cpu/cpu_runtime.h"
#include "backend/cpu/op_table.h"

namespace wick::cpu {
namespace {

// One matrix of a batch: its first element and the strides of rows and columns.
struct Matrix {
  const float* data;
  int64_t row_stride;
  int64_t column_stride;
};

// Columns packed at a time: a panel of kPanelDepth × kPanelColumns floats stays in the second-level cache.
constexpr int64_t kPanelColumns = 128;
constexpr int64_t kPanelDepth = 512;

void pack(const Matrix& source, int64_t rows, int64_t columns, float* target) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      target[row * columns + column] = source.data[row * source.row_stride + column * source.column_stride];
    }
  }
}

Matrix at(const Matrix& matrix, int64_t row, int64_t column) {
  return {matrix.data + row * matrix.row_stride + column * matrix.column_stride, matrix.row_stride, matrix.column_stride};
}

void multiply_columns(const SimdKernels& kernels, Scratch& scratch, const Matrix& a, const Matrix& b, float* c, int64_t c_stride, int64_t m,
                      int64_t columns, int64_t k) {
  auto* right = scratch.get<float>(0, static_cast<size_t>(kPanelDepth * kPanelColumns));
  for (int64_t depth = 0; depth < k; depth += kPanelDepth) {
    const int64_t part = std::min(kPanelDepth, k - depth);
    pack(at(b, depth, 0), part, columns, right);
    const Matrix left = at(a, 0, depth);
    if (left.column_stride == 1) {
      kernels.multiply_matrix(left.data, left.row_stride, right, columns, c, c_stride, m, columns, part, depth > 0);
      continue;
    }
    constexpr int64_t kRows = 64;
    auto* packed = scratch.get<float>(1, static_cast<size_t>(kRows * kPanelDepth));
    for (int64_t row = 0; row < m; row += kRows) {
      const int64_t rows = std::min(kRows, m - row);
      pack(at(left, row, 0), rows, part, packed);
      kernels.multiply_matrix(packed, part, right, columns, c + row * c_stride, c_stride, rows, columns, part, depth > 0);
    }
  }
}

}  // namespace

void matmul_f32(const OpCall& call) {
  const Layout& left = *call.inputs[0].layout;
  const Layout& right = *call.inputs[1].layout;
  const int rank = left.rank();
  const int64_t m = left.shape()[rank - 2];
  const int64_t k = left.shape()[rank - 1];
  const int64_t n = right.shape()[rank - 1];
  CpuRuntime& runtime = runtime_of(call);
  auto* c = data_of<float>(call.outputs[0]);
  // The first element of each matrix of the batch, in order: the offsets of its (0, 0).
  std::vector<int64_t> left_offsets;
  std::vector<int64_t> right_offsets;
  for_each_offset(left.narrow(rank - 2, 0, 1).narrow(rank - 1, 0, 1), [&](int64_t offset) { left_offsets.push_back(offset); });
  for_each_offset(right.narrow(rank - 2, 0, 1).narrow(rank - 1, 0, 1), [&](int64_t offset) { right_offsets.push_back(offset); });
  const auto batches = static_cast<int64_t>(left_offsets.size());
  const int64_t panels = (n + kPanelColumns - 1) / kPanelColumns;
  const auto* left_data = reinterpret_cast<const float*>(call.inputs[0].buffer->host_data());
  const auto* right_data = reinterpret_cast<const float*>(call.inputs[1].buffer->host_data());
  runtime.threads().run([&](int index, int threads) {
    for (int64_t task = batches * panels * index / threads; task < batches * panels * (index + 1) / threads; ++task) {
      const auto batch = static_cast<size_t>(task / panels);
      const int64_t column = task % panels * kPanelColumns;
      const Matrix a{left_data + left_offsets[batch], left.stride(rank - 2), left.stride(rank - 1)};
      const Matrix b{right_data + right_offsets[batch], right.stride(rank - 2), right.stride(rank - 1)};
      multiply_columns(runtime.kernels(), runtime.scratch(index), a, at(b, 0, column), c + static_cast<int64_t>(batch) * m * n + column, n,
                       m, std::min(kPanelColumns, n - column), k);
    }
  });
}

}  // namespace wick::cpu
