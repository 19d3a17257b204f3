// How the numbers of a dtype come from memory into a lane's registers and back.
#pragma once

#include <array>
#include <string>

#include "wick/ir/builder.h"
#include "wick/layout/dtype.h"

namespace wick::kernels {

// The buffer element type of a plain dtype (f8e4m3: u8).
[[nodiscard]] ir::Element element_of(DType dtype);
// Elements that are only moved, by their size; 8 bytes are two words, so that devices without 64-bit numbers move them too.
[[nodiscard]] constexpr ir::Element element_of_bytes(uint32_t bytes) {
  return bytes == 1 ? ir::Element::u8 : bytes == 2 ? ir::Element::u16 : ir::Element::u32;
}
[[nodiscard]] constexpr uint32_t words_of_bytes(uint32_t bytes) { return bytes < 8 ? 1 : 2; }
// The arithmetic type of a dtype: f32 for f32, f16, bf16 and f8e4m3; f64; i32 for i8, i16 and i32; u32 for u8 and u32; i64.
[[nodiscard]] ir::Type compute_type(DType dtype);

[[nodiscard]] inline ir::Value as_f32(const ir::Value& number) { return cast(ir::Type::f32, number); }
// The element at `index` as compute_type(dtype), exactly.
[[nodiscard]] ir::Value load_number(const ir::Memory& memory, DType dtype, const ir::Value& index);
// The same, or 0 where the gate is false.
[[nodiscard]] ir::Value load_number_if(const ir::Memory& memory, DType dtype, const ir::Value& gate, const ir::Value& index);
// Stores a value of compute_type(dtype): floats rounded once, to nearest even; of integers the low bits.
void store_number(const ir::Memory& memory, DType dtype, const ir::Value& index, const ir::Value& value);

// A parameter of any type but b1 and f16; of i64 and f64 as two words, the lower one first.
[[nodiscard]] ir::Value wide_parameter(ir::KernelBuilder& k, const std::string& name, ir::Type type);

// Quads: four neighbours, of a dtype of at most four bytes, that begin at a multiple of four. Narrow ones lie in words, so that no device
// needs narrow storage for them. What such a buffer's elements are:
[[nodiscard]] ir::Element quad_element_of(DType dtype);
using Quad = std::array<ir::Value, 4>;
// As load_number and store_number do, elements 4 · quad to 4 · quad + 3.
[[nodiscard]] Quad load_quad(const ir::Memory& memory, DType dtype, const ir::Value& quad);
void store_quad(const ir::Memory& memory, DType dtype, const ir::Value& quad, const Quad& values);

}  // namespace wick::kernels
