// From GLSL to SPIR-V, in this process, by glslang; a part of the backend that runs such modules (wick/backend/vulkan/CMakeLists.txt).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace wick {

// For Vulkan 1.2. keep_subnormals: f32 numbers below 2^-126 stay what they are, which GLSL has no words for. Errors: CompilerError with
// glslang's log.
[[nodiscard]] std::vector<std::byte> compile_glsl(const std::string& text, bool keep_subnormals);
// Which compiler that is, for whoever keeps what it gave.
[[nodiscard]] std::string glsl_compiler_version();

}  // namespace wick
