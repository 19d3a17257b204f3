// Dequantizes or widens a run of plain (not interleaved) weights to f32, by SIMD where there is a loop for the format.
#pragma once

#include <cstring>
#include <span>

#include "wick/backend/cpu/simd/simd_kernels.h"
#include "wick/quant/block_format.h"

namespace wick::cpu {

inline void unpack_rows(const SimdKernels& kernels, DType dtype, const std::byte* source, std::span<float> values) {
  switch (dtype) {
    case DType::f32: std::memcpy(values.data(), source, values.size_bytes()); return;
    case DType::f16: kernels.f16_to_f32(reinterpret_cast<const uint16_t*>(source), values.data(), values.size()); return;
    case DType::bf16: kernels.bf16_to_f32(reinterpret_cast<const uint16_t*>(source), values.data(), values.size()); return;
    case DType::q8_0: kernels.q8_0_to_f32(source, values.data(), values.size()); return;
    case DType::q4_0: kernels.q4_0_to_f32(source, values.data(), values.size()); return;
    default: find_block_format(dtype)->unpack(source, values); return;
  }
}

}  // namespace wick::cpu
