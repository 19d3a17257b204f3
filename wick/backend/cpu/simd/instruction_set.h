// The instruction sets that every CPU kernel is compiled for, and which of them this machine can run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace wick::cpu {

// avx2_vnni: AVX2 with 8-bit dot products (Alder Lake and later); avx512_vnni: AVX-512 with them (Ice Lake, Zen 4 and later);
// avx512_amx: that with products of whole tiles of bf16 (Sapphire Rapids and later); neon_dot and neon_i8mm: NEON with the 8-bit dot
// products of ARMv8.2 and ARMv8.6.
enum class InstructionSet { scalar, avx2, avx2_vnni, avx512, avx512_vnni, avx512_amx, neon, neon_dot, neon_i8mm };
inline constexpr std::array<std::string_view, 9> kInstructionSetNames = {"scalar",     "avx2", "avx2-vnni", "avx512",   "avx512-vnni",
                                                                         "avx512-amx", "neon", "neon-dot",  "neon-i8mm"};

[[nodiscard]] constexpr std::string_view to_string(InstructionSet set) noexcept { return kInstructionSetNames[static_cast<size_t>(set)]; }

// Whether the set is AVX-512 VNNI or builds on it.
[[nodiscard]] constexpr bool has_avx512_vnni(InstructionSet set) noexcept {
  return set == InstructionSet::avx512_vnni || set == InstructionSet::avx512_amx;
}

// In the order of preference, the best last. With the CMake option WICK_NATIVE those of the machine that compiled, else each one of the
// architecture.
[[nodiscard]] std::vector<InstructionSet> compiled_instruction_sets();
// The compiled ones that this processor and its operating system support. Linux is asked for AMX's registers once, for the whole process.
[[nodiscard]] std::vector<InstructionSet> usable_instruction_sets();

// Prefetches the line at `data`, which need not be mapped, into the second-level cache. Inline assembly, because compilers gather
// __builtin_prefetch, and ten or more lines at once took up to a quarter of the bandwidth.
inline void prefetch_line(const std::byte* data) noexcept {
#ifdef __x86_64__
  asm volatile("prefetcht1 %0" : : "m"(*data));
#else
  __builtin_prefetch(data, 0, 2);
#endif
}

}  // namespace wick::cpu
