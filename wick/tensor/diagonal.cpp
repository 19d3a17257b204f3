// What the diagonals of matrices bound and hold: eye, tril, triu, diagonal, diag.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/copy.h"
#include "wick/tensor/ops/fill.h"
#include "wick/tensor/tape.h"
#include "wick/tensor/tensor.h"

namespace wick {
namespace {

// Diagonal `offset` (0 is the main one, 1 the one above) of the matrices that lie in two dimensions.
struct DiagonalParams {
  int offset;
  int row_dim;
  int column_dim;
};

// The view: the other dimensions, then the place on the diagonal.
Layout diagonal_layout(const Layout& layout, const DiagonalParams& params) {
  const auto& [offset, row_dim, column_dim] = params;
  const int64_t first_row = std::max<int64_t>(0, -int64_t{offset});
  const int64_t first_column = std::max<int64_t>(0, offset);
  const int64_t length = std::min(layout.shape()[row_dim] - first_row, layout.shape()[column_dim] - first_column);
  std::vector<int64_t> extents;
  std::vector<int64_t> strides;
  for (int dim = 0; dim < layout.rank(); ++dim) {
    if (dim == row_dim || dim == column_dim) continue;
    extents.push_back(layout.shape()[dim]);
    strides.push_back(layout.stride(dim));
  }
  extents.push_back(std::max<int64_t>(length, 0));
  strides.push_back(length > 1 && layout.elements() > 0 ? layout.stride(row_dim) + layout.stride(column_dim) : 0);
  const int64_t start =
      length > 0 && layout.elements() > 0 ? first_row * layout.stride(row_dim) + first_column * layout.stride(column_dim) : 0;
  return Layout(Shape(std::span<const int64_t>(extents)), std::span<const int64_t>(strides), layout.offset() + start);
}

Tensor diagonal_of(const Tensor& x, const DiagonalParams& params);

// Zeros of that shape with `values` on a diagonal: what diagonal_of takes apart, and its gradient.
Tensor on_diagonal(const Tensor& values, const Shape& shape, const DiagonalParams& params) {
  Tensor result = make_result("diag", shape, values.dtype(), values.device());
  fill(result, 0, "diag");
  copy(values.detach(), Tensor(result.storage(), diagonal_layout(result.layout(), params)));
  const auto gradient = [](GradientContext& context) {
    context.give(0, diagonal_of(context.gradient(), context.parameters<DiagonalParams>()));
  };
  const Tensor* const input = &values;
  record("diag", gradient, bytes_of(params), std::span(&input, 1), result);
  return result;
}

Tensor diagonal_of(const Tensor& x, const DiagonalParams& params) {
  Tensor result(x.storage(), diagonal_layout(x.layout(), params));
  const auto gradient = [](GradientContext& context) {
    context.give(0, on_diagonal(context.gradient(), context.input_shape(0), context.parameters<DiagonalParams>()));
  };
  const Tensor* const input = &x;
  record("diagonal", gradient, bytes_of(params), std::span(&input, 1), result);
  return result;
}

// u8 [rows, columns]: 1 where the column is at or left of the row's diagonal element.
Tensor lower_triangle(int64_t rows, int64_t columns, int64_t diagonal, const Device& device) {
  // Some devices have no i64; f32 holds whole numbers up to 2²⁴.
  constexpr int64_t kWhole = int64_t{1} << 23U;
  const DType dtype = std::max(rows, columns) <= kWhole ? DType::f32 : DType::i64;
  const int64_t first = std::clamp(diagonal, -rows, columns);
  const Tensor limit = Tensor::arange(static_cast<double>(first), static_cast<double>(first + rows), dtype, device);
  return Tensor::arange(0, static_cast<double>(columns), dtype, device).le(limit.unsqueeze(1));
}

// The mask of tril is 1 on the diagonal, that of triu is 0 only below it.
Tensor triangle_of(const Tensor& x, std::string_view name, int diagonal, bool lower) {
  check_assigned(name, x);
  if (x.rank() < 2) fail(ErrorCode::shape_mismatch, "{}: {} must have rank 2 or more", name, x.describe());
  const Tensor mask = lower_triangle(x.dim(-2), x.dim(-1), lower ? diagonal : int64_t{diagonal} - 1, x.device());
  const Tensor zero = Tensor::zeros({}, x.dtype(), x.device());
  return lower ? mask.where_cond(x, zero) : mask.where_cond(zero, x);
}

}  // namespace

Tensor Tensor::eye(int64_t n, DType dtype, const Device& device) {
  Tensor result = make_result("eye", Extents({n, n}).checked("eye"), dtype, device);
  fill(result, 0, "eye");
  result.view(diagonal_layout(result.layout(), {0, 0, 1})).one_set();
  return result;
}

Tensor Tensor::tril2(int64_t n, DType dtype, const Device& device) {
  (void)Extents({n, n}).checked("tril2");
  return on_behalf_of("tril2", [&] { return lower_triangle(n, n, 0, device).to_dtype(dtype); });
}

Tensor Tensor::triu2(int64_t n, DType dtype, const Device& device) {
  (void)Extents({n, n}).checked("triu2");
  return on_behalf_of("triu2", [&] { return lower_triangle(n, n, 0, device).t().contiguous().to_dtype(dtype); });
}

Tensor Tensor::tril(int diagonal) const { return triangle_of(*this, "tril", diagonal, true); }
Tensor Tensor::triu(int diagonal) const { return triangle_of(*this, "triu", diagonal, false); }

Tensor Tensor::diagonal(int offset, int row_dim, int column_dim) const {
  check_assigned("diagonal", *this);
  const DiagonalParams params{offset, resolve_dim("diagonal", row_dim, shape()), resolve_dim("diagonal", column_dim, shape())};
  if (params.row_dim == params.column_dim) {
    fail(ErrorCode::invalid_argument, "diagonal: row_dim {} and column_dim {} are the same dimension of {}", row_dim, column_dim,
         describe());
  }
  if (is_quantized(dtype())) fail(ErrorCode::unsupported, "diagonal: {}: rows of a quantized tensor must stay whole", describe());
  return diagonal_of(*this, params);
}

Tensor Tensor::diag(int offset) const {
  check_assigned("diag", *this);
  if (rank() == 2) return diagonal(offset);
  if (rank() != 1) fail(ErrorCode::shape_mismatch, "diag: {} must be a vector or a matrix", describe());
  const int64_t side = checked_extent("diag", *this, Checked(elements()) + std::abs(int64_t{offset}));
  return on_diagonal(*this, Extents({side, side}).checked("diag"), {offset, 0, 1});
}

}  // namespace wick
