// Tile kernels by AVX2 with AVX-VNNI, where they differ from those of AVX2.
#include <algorithm>

#include "wick/backend/cpu/simd/simd_kernels.h"
#include "wick/backend/cpu/simd/tile_tables.h"

#if defined(__x86_64__) && !defined(WICK_SKIP_TILES_AVX_VNNI)
#include <hwy/base.h>
#include <immintrin.h>

#define WICK_AVX_VNNI

HWY_PUSH_ATTRIBUTES("avx2,fma,f16c,bmi2,avxvnni")
namespace wick::cpu {
namespace {

#include "wick/backend/cpu/simd/bit_words_avx2.h"
#include "wick/backend/cpu/simd/tile_table-inl.h"

}  // namespace
}  // namespace wick::cpu
HWY_POP_ATTRIBUTES
#endif

namespace wick::cpu {

void fill_tiles_avx_vnni(SimdKernels& kernels) {
#if defined(__x86_64__) && !defined(WICK_SKIP_TILES_AVX_VNNI)
  if (kernels.set == InstructionSet::avx2_vnni) fill_tiles(kernels);
#else
  (void)kernels;
#endif
}

}  // namespace wick::cpu
