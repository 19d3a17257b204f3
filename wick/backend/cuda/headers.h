// Headers that kernels include, as text: NVRTC has none of its own, and the toolkit's need not be installed.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace wick::cuda {

struct Header {
  const char* name;
  const char* text;
};
// cuda_fp16.h and mma.h, as far as the library's kernels use them.
extern const std::array<Header, 2> kHeaders;

[[nodiscard]] const std::array<const char*, 2>& header_texts() noexcept;
[[nodiscard]] const std::array<const char*, 2>& header_names() noexcept;
// Differs where the texts do.
[[nodiscard]] std::string headers_key();

}  // namespace wick::cuda
