// Reads one row of a matrix of any float or quantized dtype.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wick/layout/dtype.h"

namespace wick {

// Whether unpack_row reads such matrices, or elements are plain numbers.
[[nodiscard]] bool is_readable(DType dtype) noexcept;
// The values of row `row` of a matrix of values.size() columns; `dtype` is quantized, f32, f16 or bf16. `matrix_bytes` counts the whole
// matrix, at whose end i2_s has its scale.
void unpack_row(DType dtype, const std::byte* matrix, size_t matrix_bytes, int64_t row, std::span<float> values);

}  // namespace wick
