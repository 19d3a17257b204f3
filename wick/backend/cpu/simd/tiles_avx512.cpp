// Tile kernels by AVX-512 VNNI.
#include <algorithm>

#include "wick/backend/cpu/simd/simd_kernels.h"
#include "wick/backend/cpu/simd/tile_tables.h"

#if defined(__x86_64__) && !defined(WICK_SKIP_TILES_AVX512)
#include <hwy/base.h>
#include <immintrin.h>

HWY_PUSH_ATTRIBUTES("avx2,fma,f16c,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512vbmi,avx512vbmi2,avx512vpopcntdq,avx512bitalg")
namespace wick::cpu {
namespace {

#include "wick/backend/cpu/simd/bit_words_avx512.h"
#include "wick/backend/cpu/simd/tile_table-inl.h"

}  // namespace
}  // namespace wick::cpu
HWY_POP_ATTRIBUTES
#endif

namespace wick::cpu {

void fill_tiles_avx512(SimdKernels& kernels) {
#if defined(__x86_64__) && !defined(WICK_SKIP_TILES_AVX512)
  if (has_avx512_vnni(kernels.set)) fill_tiles(kernels);
#else
  (void)kernels;
#endif
}

}  // namespace wick::cpu
