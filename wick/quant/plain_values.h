// Matrices whose values no block format holds: each value is rounded once to f16, or kept in f32.
//
// A layout is a type with
//   int64_t rows, columns;                              // of the matrix [out, in]
//   float value(int64_t row, int64_t column) const;
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "wick/base/half.h"
#include "wick/layout/dtype.h"

namespace wick::quant {

// f16 if it holds numbers of this magnitude; f32 if not, or for NaN.
[[nodiscard]] inline DType plain_dtype(float largest) {
  constexpr float kLargestF16 = 65504;
  return std::fabs(largest) <= kLargestF16 ? DType::f16 : DType::f32;
}

// The matrix in f16 or f32.
template <class Layout>
void write_values(const Layout& layout, DType dtype, std::span<std::byte> to) {
  for (int64_t row = 0; row < layout.rows; ++row) {
    for (int64_t column = 0; column < layout.columns; ++column) {
      const float exact = layout.value(row, column);
      const auto at = static_cast<size_t>(row * layout.columns + column);
      const f16 rounded(exact);
      if (dtype == DType::f16) std::memcpy(to.data() + at * sizeof(uint16_t), &rounded.bits, sizeof(uint16_t));
      if (dtype == DType::f32) std::memcpy(to.data() + at * sizeof(float), &exact, sizeof(float));
    }
  }
}

}  // namespace wick::quant
