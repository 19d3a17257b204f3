#include "wick/backend/cpu/ops/convert.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "wick/backend/cpu/gemm/matrix_source.h"
#include "wick/backend/cpu/ops/number_visit.h"
#include "wick/backend/cpu/ops/strided.h"

namespace wick::cpu {
namespace {

// Elements are converted this many at a time where they are not contiguous.
constexpr int64_t kStaging = 256;

// f32 in between: exact from a narrow float; to one, rounded to odd first, so that it is rounded to nearest once.
void convert_by_f32(const SimdKernels& kernels, DType from, const std::byte* source, DType to, std::byte* target, int64_t n) {
  alignas(64) std::array<float, kChunk> chunk;  // NOLINT: uninitialised
  for (int64_t begin = 0; begin < n; begin += kChunk) {
    const int64_t count = std::min(kChunk, n - begin);
    const std::byte* in = source + begin * info(from).block_bytes;
    std::byte* out = target + begin * info(to).block_bytes;
    if (is_narrow_float(from)) {
      widen(kernels, from, in, count, chunk.data());
    } else {
      visit_number(
          from, [&]<class T>(T) { kernels.numbers<T>().to_odd(reinterpret_cast<const T*>(in), chunk.data(), static_cast<size_t>(count)); });
    }
    if (is_narrow_float(to)) {
      narrow(kernels, chunk.data(), count, to, out);
    } else {
      kernels.numbers<float>().convert[number_index(to)](chunk.data(), out, static_cast<size_t>(count));
    }
  }
}

}  // namespace

void convert_elements(const SimdKernels& kernels, DType from, const std::byte* source, DType to, std::byte* target, int64_t n) {
  if (from == to) {
    std::memcpy(target, source, static_cast<size_t>(storage_bytes(from, n)));
  } else if (to == DType::f32 && is_narrow_float(from)) {
    widen(kernels, from, source, n, reinterpret_cast<float*>(target));
  } else if (from == DType::f32 && is_narrow_float(to)) {
    narrow(kernels, reinterpret_cast<const float*>(source), n, to, target);
  } else if (is_narrow_float(from) || is_narrow_float(to)) {
    convert_by_f32(kernels, from, source, to, target, n);
  } else {
    visit_number(from, [&]<class T>(T) {
      kernels.numbers<T>().convert[number_index(to)](reinterpret_cast<const T*>(source), target, static_cast<size_t>(n));
    });
  }
}

void read_strided(const SimdKernels& kernels, DType from, const std::byte* source, int64_t stride, int64_t n, float* out) {
  const int64_t size = info(from).block_bytes;
  if (stride == 1) return read_numbers(kernels, from, source, n, out);
  alignas(64) std::array<std::byte, kStaging * 8> staging;  // NOLINT: uninitialised
  for (int64_t begin = 0; begin < n; begin += kStaging) {
    const int64_t count = std::min(kStaging, n - begin);
    copy_elements(source + begin * stride * size, stride * size, staging.data(), size, count, size);
    read_numbers(kernels, from, staging.data(), count, out + begin);
  }
}

void write_strided(const SimdKernels& kernels, const float* source, int64_t n, DType to, std::byte* target, int64_t stride) {
  const int64_t size = info(to).block_bytes;
  if (stride == 1) return write_numbers(kernels, source, n, to, target);
  alignas(64) std::array<std::byte, kStaging * 8> staging;  // NOLINT: uninitialised
  for (int64_t begin = 0; begin < n; begin += kStaging) {
    const int64_t count = std::min(kStaging, n - begin);
    write_numbers(kernels, source + begin, count, to, staging.data());
    copy_elements(staging.data(), size, target + begin * stride * size, stride * size, count, size);
  }
}

}  // namespace wick::cpu
