// A Shape is the extent of each dimension, outermost first; rank 0 (a scalar) to 8.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "wick/base/error.h"

namespace [[gnu::visibility("default")]] wick {

inline constexpr int kMaxRank = 8;

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}
  // Errors: shape_mismatch for a rank above 8, a negative extent, or a product beyond 2^63 - 1.
  explicit Shape(std::span<const int64_t> dims);

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int64_t operator[](int dim) const noexcept { return dims_[static_cast<size_t>(dim)]; }
  [[nodiscard]] std::span<const int64_t> dims() const noexcept { return {dims_.data(), static_cast<size_t>(rank_)}; }
  // 1 for a scalar, 0 if any extent is 0.
  [[nodiscard]] int64_t elements() const noexcept { return elements_; }
  // The innermost extent; 1 for a scalar.
  [[nodiscard]] int64_t last() const noexcept { return rank_ == 0 ? 1 : dims_[static_cast<size_t>(rank_ - 1)]; }
  // "[2, 3]"
  [[nodiscard]] std::string to_string() const;

  friend bool operator==(const Shape& lhs, const Shape& rhs) noexcept {
    return lhs.rank_ == rhs.rank_ && std::equal(lhs.dims_.begin(), lhs.dims_.begin() + lhs.rank_, rhs.dims_.begin());
  }

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int64_t elements_ = 1;
  int rank_ = 0;
};

// A shape argument, in braces or as a Shape, checked by the function so that an error names the function that the user called. A view:
// it lives as long as the call.
class Extents {
 public:
  Extents(std::initializer_list<int64_t> dims) : dims_(dims.begin(), dims.size()) {}  // NOLINT: braces are a shape
  Extents(const Shape& shape) : dims_(shape.dims()) {}                                // NOLINT: and so is a Shape
  explicit Extents(std::span<const int64_t> dims) : dims_(dims) {}
  // Errors: those of Shape, naming `function`.
  [[nodiscard]] Shape checked(std::string_view function) const;

 private:
  std::span<const int64_t> dims_;
};

// The shape that both broadcast to (NumPy's rule: align at the last dimension; 1 stretches).
// Errors: shape_mismatch, naming `op` and both shapes.
[[nodiscard]] Shape broadcast_shapes(const Shape& lhs, const Shape& rhs, std::string_view op);

// A dimension of the shape counted from 0; a negative one counts from the end. Errors: index_out_of_range, naming the function that the
// user called: "sum: dimension 2 is out of range for shape [2, 3]; allowed: -2 to 1".
[[nodiscard]] int resolve_dim(std::string_view function, int dim, const Shape& shape);
// The same for a dimension that the function adds.
[[nodiscard]] int resolve_new_dim(std::string_view function, int dim, const Shape& shape);

}  // namespace wick
