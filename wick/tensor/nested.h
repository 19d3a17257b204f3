// Nested holds the values of nested braces: {{1, 2}, {3, 4}} is a Nested of shape [2, 2].
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "wick/layout/shape.h"

namespace [[gnu::visibility("default")]] wick {

// Errors: shape_mismatch, naming both shapes.
[[noreturn]] void fail_ragged(const Shape& part, const Shape& first);

template <class T>
class Nested {
 public:
  template <class Number>
    requires std::convertible_to<Number, T>
  Nested(Number value) : values_{static_cast<T>(value)} {}  // NOLINT: a number is a tensor of rank 0
  // Errors: shape_mismatch where the parts differ in shape.
  Nested(std::initializer_list<Nested> parts) {  // NOLINT
    std::vector<int64_t> dims = {static_cast<int64_t>(parts.size())};
    if (parts.size() > 0) {
      const Shape& first = parts.begin()->shape_;
      for (const Nested& part : parts) {
        if (!(part.shape_ == first)) {
          fail_ragged(part.shape_, first);
        }
        values_.insert(values_.end(), part.values_.begin(), part.values_.end());
      }
      dims.insert(dims.end(), first.dims().begin(), first.dims().end());
    }
    shape_ = Shape(dims);
  }

  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  // In row-major order.
  [[nodiscard]] const std::vector<T>& flatten() const noexcept { return values_; }

 private:
  Shape shape_;
  std::vector<T> values_;
};

}  // namespace wick
