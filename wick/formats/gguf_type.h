// The tensor types of GGUF files: ggml's numbers and names for Wick's dtypes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "wick/layout/dtype.h"

namespace wick {

// The dtype that ggml numbers so; none for a number that ggml does not use (or no longer), or whose elements Wick has no dtype for.
[[nodiscard]] std::optional<DType> dtype_from_ggml_id(uint32_t id) noexcept;
// ggml's number for the dtype; none if GGUF files cannot hold it (u8, u32, f8e4m3).
[[nodiscard]] std::optional<uint32_t> ggml_id(DType dtype) noexcept;
// The name that GGUF tools print: "Q4_K", "F32". Empty if GGUF files cannot hold the dtype.
[[nodiscard]] std::string_view ggml_name(DType dtype) noexcept;
// The name of a type that ggml numbers so, whether or not Wick has a dtype for it: "Q4_0_4_4" for 31. Empty if ggml never used the number.
[[nodiscard]] std::string_view ggml_name_of_id(uint32_t id) noexcept;

}  // namespace wick
