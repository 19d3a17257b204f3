// The instruction sets that every CPU kernel is compiled for, and which of them this machine can run.
#pragma once

#include <array>
#include <string_view>
#include <vector>

namespace wick::cpu {

// avx512_vnni: AVX-512 with 8-bit dot products (Ice Lake, Zen 4 and later).
enum class InstructionSet { scalar, avx2, avx512, avx512_vnni, neon };
inline constexpr std::array<std::string_view, 5> kInstructionSetNames = {"scalar", "avx2", "avx512", "avx512-vnni", "neon"};

[[nodiscard]] constexpr std::string_view to_string(InstructionSet set) noexcept { return kInstructionSetNames[static_cast<size_t>(set)]; }

// In the order of preference, the best last.
[[nodiscard]] std::vector<InstructionSet> compiled_instruction_sets();
// The compiled ones that this processor and its operating system support.
[[nodiscard]] std::vector<InstructionSet> usable_instruction_sets();

}  // namespace wick::cpu
