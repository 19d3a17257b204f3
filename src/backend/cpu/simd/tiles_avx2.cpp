// Tile kernels by AVX2, also for AVX-512 without integer dot products.
#include "backend/cpu/simd/simd_kernels.h"
#include "backend/cpu/simd/tile_tables.h"

#if defined(__x86_64__)
#include <hwy/base.h>
#include <immintrin.h>

HWY_PUSH_ATTRIBUTES("avx2,fma,f16c,bmi2")
namespace wick::cpu {
namespace {

#include "backend/cpu/simd/bit_words_avx2.h"
#include "backend/cpu/simd/byte_look_up-inl.h"

// The register tiles of many rows fit 16 registers: four integer sums and four sums, or twelve of floats.
inline constexpr int kRunVectors = 2;
inline constexpr int kRunTokens = 2;
inline constexpr int kFloatTokens = 6;
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

void fill_tiles_avx2(SimdKernels& kernels) {
#if defined(__x86_64__)
  if (kernels.set != InstructionSet::avx2 && kernels.set != InstructionSet::avx512) return;
  fill_common_formats(kernels);
  fill_uncommon_formats(kernels);
  fill_pairs(kernels);
#else
  (void)kernels;
#endif
}

}  // namespace wick::cpu
