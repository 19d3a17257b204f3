// A MatrixView is a matrix in memory that belongs to somebody else: contiguous rows at one distance from each other. Kernels read and write
// them.
#pragma once

#include <cstdint>
#include <type_traits>

namespace wick::cpu {

template <class T>
struct MatrixView {
  T* data = nullptr;
  int64_t stride = 0;  // elements from one row to the next
  int64_t rows = 0;
  int64_t columns = 0;

  [[nodiscard]] T* row(int64_t index) const noexcept { return data + index * stride; }
  // `height` rows of `width` columns from (row, column) on.
  [[nodiscard]] MatrixView part(int64_t first_row, int64_t first_column, int64_t height, int64_t width) const noexcept {
    return {row(first_row) + first_column, stride, height, width};
  }
  // Read only.
  operator MatrixView<const T>() const noexcept  // NOLINT(google-explicit-constructor): as T* becomes const T*
    requires(!std::is_const_v<T>)
  {
    return {data, stride, rows, columns};
  }
};

}  // namespace wick::cpu
