#include "wick/backend/cpu/simd/instruction_set.h"

#include <hwy/highway.h>
#include <hwy/targets.h>

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#elif defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

namespace wick::cpu {
#if defined(__x86_64__)
namespace {

// Whether the processor has AMX for bf16 and the system lets this process use its registers, for which Linux wants to be asked
// (Documentation/arch/x86/xstate.rst).
bool asks_for_amx() {
#if defined(__linux__)
  constexpr unsigned kBf16 = 1U << 22;
  constexpr unsigned kTile = 1U << 24;
  constexpr unsigned kInt8 = 1U << 25;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (~d & (kBf16 | kTile | kInt8)) != 0) return false;
  constexpr int kRequestPermission = 0x1023;
  constexpr int kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

}  // namespace
#endif

std::vector<InstructionSet> compiled_instruction_sets() {
#if defined(__x86_64__)
  return {InstructionSet::scalar, InstructionSet::avx2,        InstructionSet::avx2_vnni,
          InstructionSet::avx512, InstructionSet::avx512_vnni, InstructionSet::avx512_amx};
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
  static const bool amx = (supported & HWY_AVX3_DL) != 0 && __builtin_cpu_supports("avx512bf16") != 0 && asks_for_amx();
  for (const InstructionSet set : compiled_instruction_sets()) {
    bool runs = true;
    if (set == InstructionSet::avx2) runs = (supported & HWY_AVX2) != 0;
    if (set == InstructionSet::avx2_vnni) runs = (supported & HWY_AVX2) != 0 && __builtin_cpu_supports("avxvnni") != 0;
    if (set == InstructionSet::avx512) runs = (supported & HWY_AVX3) != 0;
    if (set == InstructionSet::avx512_vnni) runs = (supported & HWY_AVX3_DL) != 0;
    if (set == InstructionSet::avx512_amx) runs = amx;
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
