// A MatrixSource is one matrix operand as it lies in memory, typed and at any strides; packing copies blocks of it out, widened.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wick/backend/cpu/cpu_runtime.h"
#include "wick/layout/dtype.h"

namespace wick::cpu {

struct MatrixSource {
  const std::byte* data = nullptr;  // element (0, 0)
  DType dtype = DType::f32;
  int64_t row_stride = 0;  // in elements
  int64_t column_stride = 0;

  [[nodiscard]] MatrixSource at(int64_t row, int64_t column) const noexcept {
    return {data + (row * row_stride + column * column_stride) * info(dtype).block_bytes, dtype, row_stride, column_stride};
  }
  [[nodiscard]] MatrixSource transposed() const noexcept { return {data, dtype, column_stride, row_stride}; }
};

// n contiguous elements of a float dtype as f32.
void widen(const SimdKernels& kernels, DType dtype, const std::byte* source, int64_t n, float* out);
// n floats rounded to a float dtype, contiguous.
void narrow(const SimdKernels& kernels, const float* source, int64_t n, DType dtype, std::byte* out);

// out(row, column) = the source's element, of any float dtype.
void pack_rows(const SimdKernels& kernels, Scratch& scratch, const MatrixSource& source, const MatrixView<float>& out);
// The same of an f64 source.
void pack_rows(const SimdKernels& kernels, Scratch& scratch, const MatrixSource& source, const MatrixView<double>& out);
// Neighbouring columns of a bf16 source in pairs: out(row, j) holds columns 2j (low half) and 2j + 1, which is 0 behind the last of
// `columns`.
void pack_row_pairs(const SimdKernels& kernels, Scratch& scratch, const MatrixSource& source, int64_t columns,
                    const MatrixView<uint32_t>& out);
// Neighbouring rows in pairs: out(i, column) holds rows 2i (low half) and 2i + 1, which is 0 behind the last of `rows`.
void pack_column_pairs(const SimdKernels& kernels, Scratch& scratch, const MatrixSource& source, int64_t rows,
                       const MatrixView<uint32_t>& out);

}  // namespace wick::cpu
