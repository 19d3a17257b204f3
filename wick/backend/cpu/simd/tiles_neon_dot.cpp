// Tile kernels by NEON with the dot products of ARMv8.2.
#include <algorithm>

#include "wick/backend/cpu/simd/simd_kernels.h"
#include "wick/backend/cpu/simd/tile_tables.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#include <hwy/base.h>

#define WICK_NEON_DOT

HWY_PUSH_ATTRIBUTES("arch=armv8.2-a+dotprod")
namespace wick::cpu {
namespace {

#include "wick/backend/cpu/simd/bit_words_neon.h"
#include "wick/backend/cpu/simd/tile_table-inl.h"

}  // namespace
}  // namespace wick::cpu
HWY_POP_ATTRIBUTES
#endif

namespace wick::cpu {

void fill_tiles_neon_dot(SimdKernels& kernels) {
#if defined(__aarch64__)
  if (kernels.set == InstructionSet::neon_dot) fill_tiles(kernels);
#else
  (void)kernels;
#endif
}

}  // namespace wick::cpu
