#include "wick/backend/cpu/simd/instruction_set.h"

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

// Whether the processor has what Highway's code for AVX2, for AVX-512 (AVX3) and for that of Ice Lake (AVX3_DL) uses, and the system saves
// the registers, which the compiler's question includes. Highway's own, hwy::SupportedTargets, would need its library, which measures a
// clock for 5 ms at each start of a program.
bool has_avx2() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 && __builtin_cpu_supports("bmi") != 0 &&
         __builtin_cpu_supports("bmi2") != 0 && __builtin_cpu_supports("f16c") != 0 && __builtin_cpu_supports("lzcnt") != 0 &&
         __builtin_cpu_supports("aes") != 0 && __builtin_cpu_supports("pclmul") != 0;
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512bw") != 0;
}

bool has_avx512_of_ice_lake() {
  return has_avx512() && __builtin_cpu_supports("avx512vnni") != 0 && __builtin_cpu_supports("vpclmulqdq") != 0 &&
         __builtin_cpu_supports("avx512vbmi") != 0 && __builtin_cpu_supports("avx512vbmi2") != 0 && __builtin_cpu_supports("vaes") != 0 &&
         __builtin_cpu_supports("avx512bitalg") != 0 && __builtin_cpu_supports("avx512vpopcntdq") != 0 &&
         __builtin_cpu_supports("gfni") != 0;
}

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
#if defined(WICK_NATIVE_SETS)
  return {InstructionSet::scalar, WICK_NATIVE_SETS};
#elif defined(__x86_64__)
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
  static const bool amx = has_avx512_of_ice_lake() && __builtin_cpu_supports("avx512bf16") != 0 && asks_for_amx();
  for (const InstructionSet set : compiled_instruction_sets()) {
    bool runs = true;
    if (set == InstructionSet::avx2) runs = has_avx2();
    if (set == InstructionSet::avx2_vnni) runs = has_avx2() && __builtin_cpu_supports("avxvnni") != 0;
    if (set == InstructionSet::avx512) runs = has_avx512();
    if (set == InstructionSet::avx512_vnni) runs = has_avx512_of_ice_lake();
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
