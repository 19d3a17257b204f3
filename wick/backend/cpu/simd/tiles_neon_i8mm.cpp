// Tile kernels by NEON with the mixed dot products of ARMv8.6.
#include <algorithm>

#include "wick/backend/cpu/simd/simd_kernels.h"
#include "wick/backend/cpu/simd/tile_tables.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#include <hwy/base.h>

#define WICK_NEON_I8MM

HWY_PUSH_ATTRIBUTES("arch=armv8.2-a+dotprod+i8mm")
namespace wick::cpu {
namespace {

#include "wick/backend/cpu/simd/bit_words_neon.h"
#include "wick/backend/cpu/simd/tile_table-inl.h"

}  // namespace
}  // namespace wick::cpu
HWY_POP_ATTRIBUTES
#endif

namespace wick::cpu {

void fill_tiles_neon_i8mm(SimdKernels& kernels) {
#if defined(__aarch64__)
  if (kernels.set == InstructionSet::neon_i8mm) fill_tiles(kernels);
#else
  (void)kernels;
#endif
}

}  // namespace wick::cpu
