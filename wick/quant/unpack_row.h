// Reads one row of a matrix of any dtype as numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wick/layout/dtype.h"

namespace wick {

// Whether unpack_row reads such matrices.
[[nodiscard]] bool is_readable(DType dtype) noexcept;
// The values of row `row` of a matrix of values.size() columns; f64 and integers are rounded to f32. `matrix_bytes` counts the whole
// matrix, at whose end i2_s has its scale.
void unpack_row(DType dtype, const std::byte* matrix, size_t matrix_bytes, int64_t row, std::span<float> values);
// The same, exact for every dtype but i64, whose numbers beyond 2^53 are rounded.
void unpack_row(DType dtype, const std::byte* matrix, size_t matrix_bytes, int64_t row, std::span<double> values);
// `dtype` is an integer type.
void unpack_row(DType dtype, const std::byte* matrix, size_t matrix_bytes, int64_t row, std::span<int64_t> values);

}  // namespace wick
