// The names that safetensors files give to dtypes.
#pragma once

#include <optional>
#include <string_view>

#include "wick/layout/dtype.h"

namespace wick {

// "F32" for f32; none for a dtype that the format has not.
[[nodiscard]] std::optional<std::string_view> safetensors_name(DType dtype) noexcept;
// The dtype of a name. BOOL, a byte that is 0 or 1, reads as u8. None for the names that Wick has no dtype for (U16, F8_E5M2…).
[[nodiscard]] std::optional<DType> parse_safetensors_dtype(std::string_view name) noexcept;
// The name that files give to a dtype: ggml's ("Q4_K", "F32"), or this format's where GGUF files cannot hold it ("F8_E4M3", "U8").
[[nodiscard]] std::string_view file_type_name(DType dtype) noexcept;
// The rank by which the reference implementation orders data: tensors of a higher rank come first, so that each is aligned.
[[nodiscard]] int safetensors_rank(DType dtype) noexcept;

}  // namespace wick
