#include "backend/cpu/simd/instruction_set.h"

#include <hwy/highway.h>
#include <hwy/targets.h>

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace wick::cpu {

std::vector<InstructionSet> compiled_instruction_sets() {
#if defined(__x86_64__)
  return {InstructionSet::scalar, InstructionSet::avx2, InstructionSet::avx2_vnni, InstructionSet::avx512, InstructionSet::avx512_vnni};
#elif defined(__aarch64__)
  return {InstructionSet::neon, InstructionSet::neon_dot, InstructionSet::neon_i8mm};
#else
  return {InstructionSet::scalar};
#endif
}

std::vector<InstructionSet> usable_instruction_sets() {
#if defined(__x86_64__)
  std::vector<InstructionSet> usable;
  // Highway asks CPUID and also whether the operating system saves the registers.
  const int64_t supported = hwy::SupportedTargets();
  for (const InstructionSet set : compiled_instruction_sets()) {
    bool runs = true;
    if (set == InstructionSet::avx2) runs = (supported & HWY_AVX2) != 0;
    if (set == InstructionSet::avx2_vnni) runs = (supported & HWY_AVX2) != 0 && __builtin_cpu_supports("avxvnni") != 0;
    if (set == InstructionSet::avx512) runs = (supported & HWY_AVX3) != 0;
    if (set == InstructionSet::avx512_vnni) runs = (supported & HWY_AVX3_DL) != 0;
    if (runs) usable.push_back(set);
  }
  return usable;
#elif defined(__aarch64__)
  std::vector<InstructionSet> usable = {InstructionSet::neon};
  if ((getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0) usable.push_back(InstructionSet::neon_dot);
  if ((getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0) usable.push_back(InstructionSet::neon_i8mm);
  return usable;
#else
  return compiled_instruction_sets();
#endif
}

}  // namespace wick::cpu
