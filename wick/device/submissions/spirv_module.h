// Modules of SPIR-V (Khronos, SPIR-V Specification 1.6): how they are told from texts, and what those lack that come from GLSL's compiler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace wick {

// In the byte order of this machine.
[[nodiscard]] inline bool is_spirv(std::string_view bytes) noexcept {
  constexpr uint32_t kMagic = 0x07230203;
  uint32_t magic = 0;
  if (bytes.size() >= sizeof magic) std::memcpy(&magic, bytes.data(), sizeof magic);
  return magic == kMagic;
}

// The words of a module; none if the bytes are not one.
[[nodiscard]] std::vector<uint32_t> spirv_words(std::span<const std::byte> bytes);

// Adds the execution mode DenormPreserve of 32-bit floats, which SPIR-V has from 1.4 on.
void ask_for_subnormals(std::vector<uint32_t>& module);

// A type of SPV_KHR_cooperative_matrix names its elements' type and takes its other operands as constants, where the text could only give
// literals: the bits of the float, the scope, rows, columns and use. Puts in what they stand for.
void define_tile_types(std::vector<uint32_t>& module);

}  // namespace wick
