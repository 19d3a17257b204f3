// A DType names how elements are stored: plain numbers, or blocks of quantized ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace [[gnu::visibility("default")]] wick {

// clang-format off
enum class DType : uint8_t {
  // Plain numbers: one element a unit.
  u8, u32, i8, i16, i32, i64, bf16, f16, f32, f64, f8e4m3,
  // Blocks of quantized weights, as GGUF files hold them (ggml's formats; quant/ has their bits).
  q4_0, q4_1, q5_0, q5_1, q8_0, q8_1,
  q2_k, q3_k, q4_k, q5_k, q6_k, q8_k,
  iq1_s, iq1_m, iq2_xxs, iq2_xs, iq2_s, iq3_xxs, iq3_s, iq4_nl, iq4_xs,
  tq1_0, tq2_0, mxfp4, nvfp4, q1_0, q2_0,
  i2_s,  // BitNet's: one scale for the whole tensor, behind its last block
  // The same rows with 16 of them interleaved for the CPU's dot products (quant/interleave.h); same size as the source.
  f16_x16, bf16_x16,
  q4_0_x16, q4_1_x16, q5_0_x16, q5_1_x16, q8_0_x16, q2_k_x16, q3_k_x16, q4_k_x16, q5_k_x16, q6_k_x16,
  iq1_s_x16, iq1_m_x16, iq2_xxs_x16, iq2_xs_x16, iq2_s_x16, iq3_xxs_x16, iq3_s_x16, iq4_nl_x16, iq4_xs_x16,
  tq1_0_x16, tq2_0_x16, mxfp4_x16, nvfp4_x16, q1_0_x16, q2_0_x16,
};
// clang-format on

inline constexpr DType kFirstInterleaved = DType::f16_x16;
inline constexpr int kDTypeCount = static_cast<int>(DType::q2_0_x16) + 1;

// block_bytes hold block_elements elements; (1, element size) for plain numbers. tail_bytes follow a tensor's last block.
struct DTypeInfo {
  std::string_view name;
  int32_t block_elements;
  int32_t block_bytes;
  int32_t tail_bytes = 0;
};

[[nodiscard]] const DTypeInfo& info(DType dtype) noexcept;
[[nodiscard]] inline std::string_view to_string(DType dtype) noexcept { return info(dtype).name; }
// The dtype of that name ("f32", "q4_k"); none for an unknown name.
[[nodiscard]] std::optional<DType> parse_dtype(std::string_view name) noexcept;

[[nodiscard]] constexpr bool is_quantized(DType dtype) noexcept { return dtype >= DType::q4_0; }
[[nodiscard]] constexpr bool is_interleaved(DType dtype) noexcept { return dtype >= kFirstInterleaved; }
[[nodiscard]] constexpr bool is_float(DType dtype) noexcept { return dtype >= DType::bf16 && dtype <= DType::f8e4m3; }
[[nodiscard]] constexpr bool is_integer(DType dtype) noexcept { return dtype <= DType::i64; }

// Bytes that `elements` elements inside a tensor take; elements must be a multiple of the block length.
[[nodiscard]] inline int64_t storage_bytes(DType dtype, int64_t elements) noexcept {
  const DTypeInfo& entry = info(dtype);
  return elements / entry.block_elements * entry.block_bytes;
}
// Bytes of a whole tensor.
[[nodiscard]] inline int64_t tensor_bytes(DType dtype, int64_t elements) noexcept {
  return storage_bytes(dtype, elements) + info(dtype).tail_bytes;
}

}  // namespace wick
