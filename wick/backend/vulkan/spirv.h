// What a SPIR-V module lacks when it comes from the compiler (Khronos, SPIR-V Specification 1.6).
#pragma once

#include <cstdint>
#include <vector>

namespace wick::vulkan {

// Adds the execution mode DenormPreserve of 32-bit floats, which SPIR-V has from 1.4 on.
void ask_for_subnormals(std::vector<uint32_t>& module);

// A type of SPV_KHR_cooperative_matrix names its elements' type and takes its other operands as constants, where the text could only give
// literals: the bits of the float, the scope, rows, columns and use. Puts in what they stand for.
void define_tile_types(std::vector<uint32_t>& module);

}  // namespace wick::vulkan
