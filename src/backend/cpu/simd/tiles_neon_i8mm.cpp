// Tile kernels by NEON with the mixed dot products of ARMv8.6.
#include "backend/cpu/simd/simd_kernels.h"
#include "backend/cpu/simd/tile_tables.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#include <hwy/base.h>

#define WICK_NEON_I8MM

HWY_PUSH_ATTRIBUTES("arch=armv8.2-a+dotprod+i8mm")
namespace wick::cpu {
namespace {

#include "backend/cpu/simd/bit_words_neon.h"
#include "backend/cpu/simd/byte_look_up-inl.h"

// The register tiles of many rows: eight integer sums and eight sums, or sixteen of floats.
inline constexpr int kRunVectors = 4;
inline constexpr int kRunTokens = 2;
inline constexpr int kFloatTokens = 8;
inline constexpr int64_t kFewRows = 4;
inline constexpr int64_t kFewFloatRows = 4;

#include "backend/cpu/simd/tile_formats-inl.h"
#include "backend/cpu/simd/tile_formats_codebook-inl.h"
#include "backend/cpu/simd/tile_formats_plain-inl.h"
#include "backend/cpu/simd/tile_formats_table-inl.h"
#include "backend/cpu/simd/tile_kernels-inl.h"
#include "backend/cpu/simd/tile_pairs-inl.h"
#include "backend/cpu/simd/tile_uncommon-inl.h"

}  // namespace
}  // namespace wick::cpu
HWY_POP_ATTRIBUTES
#endif

namespace wick::cpu {

void fill_tiles_neon_i8mm(SimdKernels& kernels) {
#if defined(__aarch64__)
  if (kernels.set != InstructionSet::neon_i8mm) return;
  fill_common_formats(kernels);
  fill_uncommon_formats(kernels);
  fill_pairs(kernels);
#else
  (void)kernels;
#endif
}

}  // namespace wick::cpu
