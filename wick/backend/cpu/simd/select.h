// Picks the instance of a function that Highway compiled for one instruction set. Include after hwy/highway.h, use under HWY_ONCE.
// AVX-512 VNNI and AMX use the code of AVX-512: only the tile kernels, which have files of their own, gain from their instructions.
#pragma once

#include "wick/backend/cpu/simd/instruction_set.h"

#if defined(__aarch64__)
#define WICK_CALL_FOR_SET(set, function, argument) HWY_STATIC_DISPATCH(function)(argument)
#else
#define WICK_CALL_FOR_SET(set, function, argument)                                \
  do {                                                                            \
    void (*chosen)(SimdKernels&) = nullptr;                                       \
    switch (set) {                                                                \
      case InstructionSet::scalar: chosen = HWY_CHOOSE_FALLBACK(function); break; \
      case InstructionSet::avx2:                                                  \
      case InstructionSet::avx2_vnni: chosen = HWY_CHOOSE_AVX2(function); break;  \
      case InstructionSet::avx512:                                                \
      case InstructionSet::avx512_vnni:                                           \
      case InstructionSet::avx512_amx: chosen = HWY_CHOOSE_AVX3(function); break; \
      case InstructionSet::neon:                                                  \
      case InstructionSet::neon_dot:                                              \
      case InstructionSet::neon_i8mm: break;                                      \
    }                                                                             \
    chosen(argument);                                                             \
  } while (false)
#endif
