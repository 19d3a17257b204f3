// convert_elements: elements of any plain dtype as any other, as copy defines it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wick/backend/cpu/simd/simd_kernels.h"
#include "wick/layout/dtype.h"

namespace wick::cpu {

// Contiguous elements; the two do not overlap.
void convert_elements(const SimdKernels& kernels, DType from, const std::byte* source, DType to, std::byte* target, int64_t n);

// Conversions between a narrow dtype and its arithmetic type: n contiguous elements to f32 (f64 for f64) and back, rounded once.
template <class T>
void read_numbers(const SimdKernels& kernels, DType dtype, const std::byte* source, int64_t n, T* out) {
  convert_elements(kernels, dtype, source, sizeof(T) == 8 ? DType::f64 : DType::f32, reinterpret_cast<std::byte*>(out), n);
}
template <class T>
void write_numbers(const SimdKernels& kernels, const T* source, int64_t n, DType dtype, std::byte* out) {
  convert_elements(kernels, sizeof(T) == 8 ? DType::f64 : DType::f32, reinterpret_cast<const std::byte*>(source), dtype, out, n);
}

// n elements that are `stride` elements apart as f32, and f32 as such elements.
void read_strided(const SimdKernels& kernels, DType from, const std::byte* source, int64_t stride, int64_t n, float* out);
void write_strided(const SimdKernels& kernels, const float* source, int64_t n, DType to, std::byte* target, int64_t stride);

}  // namespace wick::cpu
