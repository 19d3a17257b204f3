// Tile kernels by AVX2, also for AVX-512 without integer dot products; AVX-VNNI replaces those that multiply integers.
#include <algorithm>

#include "wick/backend/cpu/simd/simd_kernels.h"
#include "wick/backend/cpu/simd/tile_tables.h"

#if defined(__x86_64__) && !defined(WICK_SKIP_TILES_AVX2)
#include <hwy/base.h>
#include <immintrin.h>

HWY_PUSH_ATTRIBUTES("avx2,fma,f16c,bmi2")
namespace wick::cpu {
namespace {

#include "wick/backend/cpu/simd/bit_words_avx2.h"
#include "wick/backend/cpu/simd/tile_table-inl.h"

}  // namespace
}  // namespace wick::cpu
HWY_POP_ATTRIBUTES
#endif

namespace wick::cpu {

void fill_tiles_avx2(SimdKernels& kernels) {
#if defined(__x86_64__) && !defined(WICK_SKIP_TILES_AVX2)
  const InstructionSet set = kernels.set;
  if (set == InstructionSet::avx2 || set == InstructionSet::avx2_vnni || set == InstructionSet::avx512) fill_tiles(kernels);
#else
  (void)kernels;
#endif
}

}  // namespace wick::cpu
