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
    if (extent < 0) fail(ErrorCode::shape_mismatch, "shape [{}]: extent {} is negative", fmt::join(dims, ", "), extent);
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

Shape broadcast_shapes(const Shape& lhs, const Shape& rhs, std::string_view op) {
  const int rank = std::max(lhs.rank(), rhs.rank());
  std::array<int64_t, kMaxRank> dims{};
  for (int back = 1; back <= rank; ++back) {
    const int64_t left = back <= lhs.rank() ? lhs[lhs.rank() - back] : 1;
    const int64_t right = back <= rhs.rank() ? rhs[rhs.rank() - back] : 1;
    if (left != right && left != 1 && right != 1) {
      fail(ErrorCode::shape_mismatch, "{}: shapes {} and {} do not broadcast: {} against {} at dimension {} from the end", op,
           lhs.to_string(), rhs.to_string(), left, right, back);
    }
    dims[static_cast<size_t>(rank - back)] = left == 1 ? right : left;
  }
  return Shape(std::span<const int64_t>(dims.data(), static_cast<size_t>(rank)));
}

}  // namespace wick
