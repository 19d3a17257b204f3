// The instruction sets that every CPU kernel is compiled for, and which of them this machine can run.
#pragma once

#include <array>
#include <string_view>
#include <vector>

namespace wick::cpu {

// avx2_vnni: AVX2 with 8-bit dot products (Alder Lake and later); avx512_vnni: AVX-512 with them (Ice Lake, Zen 4 and later);
// neon_dot and neon_i8mm: NEON with those of ARMv8.2 and ARMv8.6.
enum class InstructionSet { scalar, avx2, avx2_vnni, avx512, avx512_vnni, neon, neon_dot, neon_i8mm };
inline constexpr std::array<std::string_view, 8> kInstructionSetNames = {"scalar",      "avx2", "avx2-vnni", "avx512",
                                                                         "avx512-vnni", "neon", "neon-dot",  "neon-i8mm"};

[[nodiscard]] constexpr std::string_view to_string(InstructionSet set) noexcept { return kInstructionSetNames[static_cast<size_t>(set)]; }

// In the order of preference, the best last.
[[nodiscard]] std::vector<InstructionSet> compiled_instruction_sets();
// The compiled ones that this processor and its operating system support.
[[nodiscard]] std::vector<InstructionSet> usable_instruction_sets();

}  // namespace wick::cpu
