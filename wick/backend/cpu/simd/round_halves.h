// 32 f16 as bf16 by AVX-512 BF16, for the kernels that multiply bf16 and read f16.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstddef>

namespace wick::cpu {

// Rounded half to even, in their order. Any f16 but 0 is a normal number as f32.
__attribute__((target("avx512f,avx512bf16"), always_inline)) inline __m512i round_halves(const std::byte* halves) noexcept {
  const auto* words = reinterpret_cast<const __m256i*>(halves);
  const __m512bh rounded = _mm512_cvtne2ps_pbh(_mm512_cvtph_ps(_mm256_loadu_si256(words + 1)), _mm512_cvtph_ps(_mm256_loadu_si256(words)));
  return reinterpret_cast<const __m512i&>(rounded);
}

}  // namespace wick::cpu
#endif
