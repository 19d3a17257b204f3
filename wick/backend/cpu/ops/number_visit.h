// visit_number: from a dtype to the type that its loops compute in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wick/backend/cpu/simd/number_loops.h"
#include "wick/base/fail.h"
#include "wick/layout/dtype.h"

namespace wick::cpu {

// f16, bf16 and f8e4m3 are computed in f32, a chunk of this many elements at a time.
inline constexpr int64_t kChunk = 1024;
[[nodiscard]] constexpr bool is_narrow_float(DType dtype) noexcept {
  return dtype == DType::bf16 || dtype == DType::f16 || dtype == DType::f8e4m3;
}

// Calls body(a value of the type): the dtype's own, and float for the narrow floats.
template <class Body>
void visit_number(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::u8: return body(uint8_t{});
    case DType::u32: return body(uint32_t{});
    case DType::i8: return body(int8_t{});
    case DType::i16: return body(int16_t{});
    case DType::i32: return body(int32_t{});
    case DType::i64: return body(int64_t{});
    case DType::bf16:
    case DType::f16:
    case DType::f8e4m3:
    case DType::f32: return body(float{});
    case DType::f64: return body(double{});
    default: WICK_ASSERT(!is_quantized(dtype));
  }
}

// A type's place in Numbers.
[[nodiscard]] constexpr size_t number_index(DType dtype) noexcept {
  switch (dtype) {
    case DType::u8: return 0;
    case DType::u32: return 1;
    case DType::i8: return 2;
    case DType::i16: return 3;
    case DType::i32: return 4;
    case DType::i64: return 5;
    case DType::f64: return 7;
    default: return 6;
  }
}

}  // namespace wick::cpu
