// How SPIR-V is made without SPIRV-Tools: drivers optimize what they load, and the tests validate every text.
#pragma once

#include <glslang/Include/glslang_c_interface.h>

namespace wick::vulkan {

// A program that calls this holds none of SPIRV-Tools: see the source.
[[nodiscard]] glslang_spv_options_t options_without_spirv_tools();

}  // namespace wick::vulkan
