// Tile kernels by AVX-512 VNNI.
#include "backend/cpu/simd/simd_kernels.h"
#include "backend/cpu/simd/tile_tables.h"

#if defined(__x86_64__)
#include <hwy/base.h>
#include <immintrin.h>

HWY_PUSH_ATTRIBUTES("avx2,fma,f16c,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512vbmi,avx512vbmi2,avx512vpopcntdq,avx512bitalg")
namespace wick::cpu {
namespace {

#include "backend/cpu/simd/bit_words_avx512.h"

// The register tile of many rows: two vectors of weights times four rows of activations are eight chains of dot products, enough to keep
// the units busy; six rows are no faster.
inline constexpr int kRunVectors = 2;
inline constexpr int kRunTokens = 4;
// Of floats: 24 sums.
inline constexpr int kFloatTokens = 12;
inline constexpr int64_t kFewRows = 8;
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

void fill_tiles_avx512(SimdKernels& kernels) {
#if defined(__x86_64__)
  if (kernels.set != InstructionSet::avx512_vnni) return;
  fill_common_formats(kernels);
  fill_uncommon_formats(kernels);
  fill_pairs(kernels);
#else
  (void)kernels;
#endif
}

}  // namespace wick::cpu
