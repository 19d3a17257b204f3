#include "kernels/numbers.h"

#include "base/error.h"

namespace wick::kernels {

using ir::Element;
using ir::Type;
using ir::Value;

Element element_of(DType dtype) {
  switch (dtype) {
    case DType::u8:
    case DType::f8e4m3: return Element::u8;
    case DType::u32: return Element::u32;
    case DType::i8: return Element::i8;
    case DType::i16: return Element::i16;
    case DType::i32: return Element::i32;
    case DType::i64: return Element::i64;
    case DType::bf16: return Element::bf16;
    case DType::f16: return Element::f16;
    case DType::f32: return Element::f32;
    case DType::f64: return Element::f64;
    default: break;
  }
  assertion_failed("a plain dtype");
}

Type compute_type(DType dtype) {
  if (is_float(dtype)) return dtype == DType::f64 ? Type::f64 : Type::f32;
  return register_type(element_of(dtype));
}

namespace {

// f8e4m3 (OCP 8-bit floating point, 2023): bias 7, no infinity, NaN where all bits but the sign are set. Numbers without an exponent are
// multiples of 2^-9; their bits would be a subnormal f32, which may count as zero.
Value f8_to_f32(const Value& bits) {
  const Value sign = (bits & 0x80U) << 24, magnitude = bits & 0x7fU;
  const Value small = bitcast(Type::u32, cast(Type::f32, magnitude) * 0x1p-9F), normal = (magnitude << 20) + (120U << 23);
  const Value number = select(magnitude < 8U, small, normal);
  return bitcast(Type::f32, sign | select(magnitude == 0x7fU, 0x7fc00000U, number));
}

// To nearest even, the largest number 448 for all beyond; NaN stays NaN.
Value f32_to_f8(const Value& x) {
  const Value bits = bitcast(Type::u32, x), sign = (bits >> 24) & 0x80U, magnitude = bits & 0x7fffffffU;
  // Normal numbers: round the significand to three bits. Numbers below 2^-6 are multiples of 2^-9: 2^14 has its last bit there.
  const Value normal = min(((magnitude + 0x7ffffU + ((magnitude >> 20) & 1U)) >> 20) - 120U * 8U, 0x7eU);
  const Value small = bitcast(Type::u32, bitcast(Type::f32, magnitude) + 0x1p14F) - 0x46800000U;
  return sign | select(magnitude > 0x7f800000U, 0x7fU, select(magnitude < 0x3c800000U, small, normal));
}

}  // namespace

Value load_number(const ir::Memory& memory, DType dtype, const Value& index) {
  const Value value = memory.load(index);
  if (dtype == DType::f8e4m3) return f8_to_f32(value);
  return dtype == DType::f16 ? cast(Type::f32, value) : value;
}

void store_number(const ir::Memory& memory, DType dtype, const Value& index, const Value& value) {
  if (dtype == DType::f8e4m3) return memory.store(index, f32_to_f8(value));
  memory.store(index, dtype == DType::f16 ? cast(Type::f16, value) : value);
}

}  // namespace wick::kernels
