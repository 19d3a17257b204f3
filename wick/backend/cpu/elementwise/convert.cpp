#include "wick/backend/cpu/elementwise/convert.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "wick/backend/cpu/elementwise/number_visit.h"
#include "wick/backend/cpu/gemm/matrix_source.h"

namespace wick::cpu {
namespace {

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

}  // namespace wick::cpu
