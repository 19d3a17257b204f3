// A DType names how elements are stored: plain numbers, or blocks of quantized ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace [[gnu::visibility("default")]] wick {

// The dtypes, one row each: ROW(name, class, elements of a block, bytes of a block, bytes after a tensor's last block).
// clang-format off
#define WICK_DTYPES(ROW)                                                                                                          \
  /* Plain numbers: one element a unit. */                                                                                        \
  ROW(u8, integer, 1, 1, 0)                                                                                                       \
  ROW(u32, integer, 1, 4, 0)                                                                                                      \
  ROW(i8, integer, 1, 1, 0)                                                                                                       \
  ROW(i16, integer, 1, 2, 0)                                                                                                      \
  ROW(i32, integer, 1, 4, 0)                                                                                                      \
  ROW(i64, integer, 1, 8, 0)                                                                                                      \
  ROW(bf16, floating, 1, 2, 0)                                                                                                    \
  ROW(f16, floating, 1, 2, 0)                                                                                                     \
  ROW(f32, floating, 1, 4, 0)                                                                                                     \
  ROW(f64, floating, 1, 8, 0)                                                                                                     \
  ROW(f8e4m3, floating, 1, 1, 0)                                                                                                  \
  /* Blocks of quantized weights, as GGUF files hold them (ggml's formats; quant/ has their bits). */                             \
  ROW(q4_0, block, 32, 18, 0)                                                                                                     \
  ROW(q4_1, block, 32, 20, 0)                                                                                                     \
  ROW(q5_0, block, 32, 22, 0)                                                                                                     \
  ROW(q5_1, block, 32, 24, 0)                                                                                                     \
  ROW(q8_0, block, 32, 34, 0)                                                                                                     \
  ROW(q8_1, block, 32, 36, 0)                                                                                                     \
  ROW(q2_k, block, 256, 84, 0)                                                                                                    \
  ROW(q3_k, block, 256, 110, 0)                                                                                                   \
  ROW(q4_k, block, 256, 144, 0)                                                                                                   \
  ROW(q5_k, block, 256, 176, 0)                                                                                                   \
  ROW(q6_k, block, 256, 210, 0)                                                                                                   \
  ROW(q8_k, block, 256, 292, 0)                                                                                                   \
  ROW(iq1_s, block, 256, 50, 0)                                                                                                   \
  ROW(iq1_m, block, 256, 56, 0)                                                                                                   \
  ROW(iq2_xxs, block, 256, 66, 0)                                                                                                 \
  ROW(iq2_xs, block, 256, 74, 0)                                                                                                  \
  ROW(iq2_s, block, 256, 82, 0)                                                                                                   \
  ROW(iq3_xxs, block, 256, 98, 0)                                                                                                 \
  ROW(iq3_s, block, 256, 110, 0)                                                                                                  \
  ROW(iq4_nl, block, 32, 18, 0)                                                                                                   \
  ROW(iq4_xs, block, 256, 136, 0)                                                                                                 \
  ROW(tq1_0, block, 256, 54, 0)                                                                                                   \
  ROW(tq2_0, block, 256, 66, 0)                                                                                                   \
  ROW(mxfp4, block, 32, 17, 0)                                                                                                    \
  ROW(nvfp4, block, 64, 36, 0)                                                                                                    \
  ROW(q1_0, block, 128, 18, 0)                                                                                                    \
  ROW(q2_0, block, 64, 18, 0)                                                                                                     \
  ROW(i2_s, block, 128, 32, 32) /* BitNet's: one scale for the whole tensor, after its last block */
// clang-format on

enum class DTypeClass : uint8_t { integer, floating, block };

#define WICK_DTYPE(name, ...) name,
enum class DType : uint8_t { WICK_DTYPES(WICK_DTYPE) };
#undef WICK_DTYPE

// block_bytes hold block_elements elements; (1, element size) for plain numbers. tail_bytes follow a tensor's last block.
struct DTypeInfo {
  DType dtype;
  std::string_view name;
  DTypeClass type_class;
  int32_t block_elements;
  int32_t block_bytes;
  int32_t tail_bytes;
};
#define WICK_DTYPE(name, type_class, elements, bytes, tail) DTypeInfo{DType::name, #name, DTypeClass::type_class, elements, bytes, tail},
inline constexpr auto kDTypeRows = std::to_array<DTypeInfo>({WICK_DTYPES(WICK_DTYPE)});
#undef WICK_DTYPE
inline constexpr int kDTypeCount = static_cast<int>(kDTypeRows.size());

[[nodiscard]] constexpr const DTypeInfo& info(DType dtype) noexcept { return kDTypeRows[static_cast<size_t>(dtype)]; }
[[nodiscard]] constexpr std::string_view to_string(DType dtype) noexcept { return info(dtype).name; }
// The dtype of that name ("f32", "q4_k"); none for an unknown name.
[[nodiscard]] std::optional<DType> parse_dtype(std::string_view name) noexcept;

// The first dtype of a class, or of a later one.
[[nodiscard]] consteval DType first_of(DTypeClass type_class) {
  for (const DTypeInfo& row : kDTypeRows) {
    if (row.type_class >= type_class) return row.dtype;
  }
  return kDTypeRows.back().dtype;
}
[[nodiscard]] constexpr bool is_integer(DType dtype) noexcept { return dtype < first_of(DTypeClass::floating); }
[[nodiscard]] constexpr bool is_float(DType dtype) noexcept { return !is_integer(dtype) && dtype < first_of(DTypeClass::block); }
[[nodiscard]] constexpr bool is_quantized(DType dtype) noexcept { return dtype >= first_of(DTypeClass::block); }

// Rows are found by their enumerator's number, and classes by where they begin.
static_assert([] {
  for (size_t i = 0; i < kDTypeRows.size(); ++i) {
    if (static_cast<size_t>(kDTypeRows[i].dtype) != i || kDTypeRows[i].name.empty() || kDTypeRows[i].block_bytes <= 0) return false;
    if (i > 0 && kDTypeRows[i].type_class < kDTypeRows[i - 1].type_class) return false;
    if (kDTypeRows[i].type_class < DTypeClass::block && kDTypeRows[i].block_elements != 1) return false;
  }
  return true;
}());

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
