// Tile kernels by NEON of ARMv8.0.
#include <algorithm>

#include "wick/backend/cpu/simd/simd_kernels.h"
#include "wick/backend/cpu/simd/tile_tables.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#include <hwy/base.h>

HWY_PUSH_ATTRIBUTES("+simd")
namespace wick::cpu {
namespace {

#include "wick/backend/cpu/simd/bit_words_neon.h"
#include "wick/backend/cpu/simd/tile_table-inl.h"

}  // namespace
}  // namespace wick::cpu
HWY_POP_ATTRIBUTES
#endif

namespace wick::cpu {

void fill_tiles_neon(SimdKernels& kernels) {
#if defined(__aarch64__)
  // The other sets replace those that multiply integers.
  fill_tiles(kernels);
#else
  (void)kernels;
#endif
}

}  // namespace wick::cpu
