// Calls a generic function with a value of the C++ type that a dtype names, or of the word that its elements fill.
#pragma once

#include <cstdint>

#include "wick/base/fail.h"
#include "wick/base/half.h"
#include "wick/layout/dtype.h"

namespace wick::cpu {

// body(T{}) for a plain dtype.
template <class Body>
void visit_dtype(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::u8: return body(uint8_t{});
    case DType::u32: return body(uint32_t{});
    case DType::i8: return body(int8_t{});
    case DType::i16: return body(int16_t{});
    case DType::i32: return body(int32_t{});
    case DType::i64: return body(int64_t{});
    case DType::bf16: return body(bf16{});
    case DType::f16: return body(f16{});
    case DType::f32: return body(float{});
    case DType::f64: return body(double{});
    case DType::f8e4m3: return body(f8e4m3{});
    default: WICK_ASSERT(!is_quantized(dtype));
  }
}

// For ops that move elements and never look at them: body(uint8_t{}) … body(uint64_t{}) by the size of an element.
template <class Body>
void visit_word(DType dtype, Body&& body) {
  switch (info(dtype).block_bytes) {
    case 1: return body(uint8_t{});
    case 2: return body(uint16_t{});
    case 4: return body(uint32_t{});
    default: return body(uint64_t{});
  }
}

// For ids: u8, u32, i32 or i64.
template <class Body>
void visit_ids(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::u8: return body(uint8_t{});
    case DType::u32: return body(uint32_t{});
    case DType::i32: return body(int32_t{});
    default: return body(int64_t{});
  }
}

}  // namespace wick::cpu
