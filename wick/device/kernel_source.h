// A KernelSource is a kernel that somebody wrote in a device's own language, and a KernelSignature what it is launched with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wick/ir/kernel.h"

namespace [[gnu::visibility("default")]] wick {

enum class SourceLanguage : uint8_t { cuda_cpp, hip_cpp, opencl_c, glsl, spirv };

// "CUDA C++"
[[nodiscard]] constexpr std::string_view to_string(SourceLanguage language) noexcept {
  switch (language) {
    case SourceLanguage::cuda_cpp: return "CUDA C++";
    case SourceLanguage::hip_cpp: return "HIP C++";
    case SourceLanguage::opencl_c: return "OpenCL C";
    case SourceLanguage::glsl: return "GLSL";
    case SourceLanguage::spirv: return "SPIR-V";
  }
  return "";
}

struct KernelSource {
  SourceLanguage language{};
  std::string text;  // of SPIR-V: the bytes of the module
};

// Buffers are the first arguments, in this order, then each scalar is one: in CUDA C++ and HIP C++ of an extern "C" function. In GLSL and
// SPIR-V, buffer i is binding i of set 0, and the scalars are push constants, one behind the other; GLSL's entry is "main".
struct KernelSignature {
  uint32_t group_size = 1;                     // lanes of a group; OpenCL C, GLSL and SPIR-V may say the same in the source
  std::vector<ir::BufferArgument> buffers;     // name, element, and whether it is written
  std::vector<ir::ParameterArgument> scalars;  // name and type: u32, i32 or f32
};

}  // namespace wick
