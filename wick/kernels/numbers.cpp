#include "wick/kernels/numbers.h"

#include "wick/base/fail.h"
#include "wick/ir/lowering.h"

namespace wick::kernels {

using namespace ir;

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

Value number_of(DType dtype, const Value& element) {
  if (dtype == DType::f8e4m3) return f8_to_f32(element);
  return dtype == DType::f16 ? cast(Type::f32, element) : element;
}

}  // namespace

Value load_number(const ir::Memory& memory, DType dtype, const Value& index) { return number_of(dtype, memory.load(index)); }

Value load_number_if(const ir::Memory& memory, DType dtype, const Value& gate, const Value& index) {
  return number_of(dtype, memory.load_if(gate, index, 0));
}

void store_number(const ir::Memory& memory, DType dtype, const Value& index, const Value& value) {
  if (dtype == DType::f8e4m3) return memory.store(index, f32_to_f8(value));
  memory.store(index, dtype == DType::f16 ? cast(Type::f16, value) : value);
}

Value wide_parameter(ir::KernelBuilder& k, const std::string& name, Type type) {
  if (type != Type::i64 && type != Type::f64) return k.parameter(name, type);
  const Value low = k.parameter(name + "_low", Type::u32), high = k.parameter(name + "_high", Type::u32);
  return bitcast(type, cast(Type::i64, low) | (cast(Type::i64, high) << 32));
}

Element quad_element_of(DType dtype) {
  const Element element = element_of(dtype);
  return is_narrow(element) ? Element::u32 : element;
}

namespace {

// Number `part` of the narrow ones in a word, and the low bits of one as a word has it.
Value unpacked(DType dtype, const Value& word, uint32_t part) {
  const auto width = 8U * static_cast<uint32_t>(info(dtype).block_bytes);
  const Value high = word << (32 - width * (part + 1)), low = high >> (32 - width);
  switch (dtype) {
    case DType::i8:
    case DType::i16: return bitcast(Type::i32, high) >> (32 - width);
    case DType::bf16: return bitcast(Type::f32, part == 0 ? high : word & 0xffff0000U);
    case DType::f16: return unpack_half(low);
    case DType::f8e4m3: return f8_to_f32(low);
    default: return low;
  }
}

Value packed(DType dtype, const Value& number) {
  switch (dtype) {
    case DType::bf16: return ir::pack_bf16(number);
    case DType::f16: return ir::pack_half(number);
    case DType::f8e4m3: return f32_to_f8(number);
    case DType::i16: return bitcast(Type::u32, number) & 0xffffU;
    default: return bitcast(Type::u32, number) & 0xffU;
  }
}

}  // namespace

Quad load_quad(const ir::Memory& memory, DType dtype, const Value& quad) {
  const auto bytes = static_cast<uint32_t>(info(dtype).block_bytes);
  Quad numbers;
  if (bytes == 4) {
    const ir::Vector all = memory.load4(quad * 4U);
    for (uint32_t i = 0; i < 4; ++i) numbers[i] = all[i];
  } else if (bytes == 2) {
    const ir::Vector words = memory.load2(quad * 2U);
    for (uint32_t i = 0; i < 4; ++i) numbers[i] = unpacked(dtype, words[i / 2], i % 2);
  } else {
    const Value word = memory.load(quad);
    for (uint32_t i = 0; i < 4; ++i) numbers[i] = unpacked(dtype, word, i);
  }
  return numbers;
}

void store_quad(const ir::Memory& memory, DType dtype, const Value& quad, const Quad& values) {
  const auto bytes = static_cast<uint32_t>(info(dtype).block_bytes);
  if (bytes == 4) return memory.store(quad * 4U, {values[0], values[1], values[2], values[3]});
  Quad parts;
  for (uint32_t i = 0; i < 4; ++i) parts[i] = packed(dtype, values[i]);
  if (bytes == 2) return memory.store(quad * 2U, {parts[0] | (parts[1] << 16), parts[2] | (parts[3] << 16)});
  memory.store(quad, parts[0] | (parts[1] << 8) | (parts[2] << 16) | (parts[3] << 24));
}

}  // namespace wick::kernels
