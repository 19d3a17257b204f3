#include "wick/layout/shape.h"

#include "wick/base/fail.h"

#include <fmt/ranges.h>

#include <string_view>

namespace wick {

Shape::Shape(std::span<const int64_t> dims) {
  if (dims.size() > kMaxRank)
    fail(ErrorCode::shape_mismatch, "shape [{}]: rank {} is above {}", fmt::join(dims, ", "), dims.size(), kMaxRank);
  rank_ = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), dims_.begin());
  bool empty = false;
  for (const int64_t extent : dims) {
    if (extent < 0) fail(ErrorCode::shape_mismatch, "shape [{}]: extent {} is negative; allowed: 0 or more", fmt::join(dims, ", "), extent);
    empty = empty || extent == 0;
  }
  for (const int64_t extent : dims) {
    if (!empty && __builtin_mul_overflow(elements_, extent, &elements_)) {
      fail(ErrorCode::shape_mismatch, "shape [{}]: more than 2^63 - 1 elements", fmt::join(dims, ", "));
    }
  }
  if (empty) elements_ = 0;
}

std::string Shape::to_string() const { return fmt::format("[{}]", fmt::join(dims(), ", ")); }

Shape Extents::checked(std::string_view function) const {
  return on_behalf_of(function, [&] { return Shape(dims_); });
}

Shape broadcast_shapes(const Shape& lhs, const Shape& rhs, std::string_view op) {
  const int rank = std::max(lhs.rank(), rhs.rank());
  std::array<int64_t, kMaxRank> dims{};
  for (int back = 1; back <= rank; ++back) {
    const int64_t left = back <= lhs.rank() ? lhs[lhs.rank() - back] : 1;
    const int64_t right = back <= rhs.rank() ? rhs[rhs.rank() - back] : 1;
    if (left != right && left != 1 && right != 1) {
      fail(ErrorCode::shape_mismatch, "{}: shapes {} and {} do not broadcast: extents {} and {} of dimension {} differ, and neither is 1",
           op, lhs.to_string(), rhs.to_string(), left, right, -back);
    }
    dims[static_cast<size_t>(rank - back)] = left == 1 ? right : left;
  }
  return Shape(std::span<const int64_t>(dims.data(), static_cast<size_t>(rank)));
}

namespace {

// `dims` is how many there are to choose from.
int resolve(std::string_view function, int dim, int dims, const Shape& shape) {
  if (dims == 0) fail(ErrorCode::index_out_of_range, "{}: dimension {} of a scalar, which has no dimensions", function, dim);
  if (dim < -dims || dim >= dims) {
    fail(ErrorCode::index_out_of_range, "{}: dimension {} is out of range for shape {}; allowed: {} to {}", function, dim,
         shape.to_string(), -dims, dims - 1);
  }
  return dim < 0 ? dim + dims : dim;
}

}  // namespace

int resolve_dim(std::string_view function, int dim, const Shape& shape) { return resolve(function, dim, shape.rank(), shape); }

int resolve_new_dim(std::string_view function, int dim, const Shape& shape) { return resolve(function, dim, shape.rank() + 1, shape); }

}  // namespace wick
