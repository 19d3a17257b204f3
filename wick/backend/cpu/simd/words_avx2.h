// The vector operations that tile kernels are written in, by AVX2, or AVX-VNNI where WICK_AVX_VNNI is defined: a vector holds the same four
// columns of 8 weight rows, one row in each 32-bit lane. Included between the includes and the kernels of a source file.
#pragma once

inline constexpr int kVectorRows = 8;

using Bytes = __m256i;
using Ints = __m256i;
using Floats = __m256;

HWY_INLINE Bytes load_bytes(const std::byte* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
HWY_INLINE void store_bytes(Bytes bytes, std::byte* p) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), bytes); }
HWY_INLINE Bytes splat_byte(int byte) { return _mm256_set1_epi8(static_cast<char>(byte)); }
HWY_INLINE Bytes bit_and(Bytes a, Bytes b) { return _mm256_and_si256(a, b); }
HWY_INLINE Bytes bit_or(Bytes a, Bytes b) { return _mm256_or_si256(a, b); }
// Shifts move bits between the two bytes of a 16-bit lane: mask what came from the neighbour.
template <int kBits>
HWY_INLINE Bytes shift_left(Bytes a) {
  return _mm256_slli_epi16(a, kBits);
}
template <int kBits>
HWY_INLINE Bytes shift_right(Bytes a) {
  return _mm256_srli_epi16(a, kBits);
}
HWY_INLINE Bytes shift_right(Bytes a, int bits) { return _mm256_srl_epi16(a, _mm_cvtsi32_si128(bits)); }

HWY_INLINE Ints splat_int(int32_t value) { return _mm256_set1_epi32(value); }
HWY_INLINE Ints splat_word(const int8_t* p) {
  int32_t word = 0;
  __builtin_memcpy(&word, p, sizeof(word));
  return _mm256_set1_epi32(word);
}

// dot() adds the products of the four bytes u - kDotBias of each lane with the four signed ones of `word` to sums.
#if defined(WICK_AVX_VNNI)
// Whether only what multiplies differs from a set whose kernels are in the table already.
inline constexpr bool kDotOnly = true;
inline constexpr int kDotBias = 0;
HWY_INLINE Ints dot(Ints sums, Bytes u, Ints word) { return _mm256_dpbusd_avx_epi32(sums, u, word); }
#else
// vpmaddubsw multiplies unsigned bytes with signed ones and saturates sums of two at 16 bits: |u - 128| ≤ 128 times q ≤ 127 with the sign
// of u - 128 stays below.
inline constexpr bool kDotOnly = false;
inline constexpr int kDotBias = 128;
HWY_INLINE Ints dot(Ints sums, Bytes u, Ints word) {
  const __m256i weights = _mm256_xor_si256(u, _mm256_set1_epi8(-128));
  const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(weights), _mm256_sign_epi8(word, weights));
  return _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
#endif

HWY_INLINE Floats zero() { return _mm256_setzero_ps(); }
HWY_INLINE Floats splat(float value) { return _mm256_set1_ps(value); }
HWY_INLINE Floats load(const float* p) { return _mm256_loadu_ps(p); }
HWY_INLINE void store(Floats value, float* p) { _mm256_storeu_ps(p, value); }
HWY_INLINE Floats to_floats(Ints value) { return _mm256_cvtepi32_ps(value); }
HWY_INLINE Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
HWY_INLINE Floats multiply(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
HWY_INLINE Floats multiply_add(Floats a, Floats b, Floats sum) { return _mm256_fmadd_ps(a, b, sum); }
HWY_INLINE Floats multiply_subtract(Floats a, Floats b, Floats sum) { return _mm256_fnmadd_ps(a, b, sum); }  // sum - a · b

// One number a row as floats: 16-bit floats, and signed or unsigned bytes.
HWY_INLINE Floats load_f16(const std::byte* p) { return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
// Bytes of one row each, in the low part of a vector of which the rest means nothing.
using RowBytes = __m128i;
HWY_INLINE RowBytes load_row_bytes(const std::byte* p) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)); }
HWY_INLINE RowBytes row_bytes_and(RowBytes a, int mask) { return _mm_and_si128(a, _mm_set1_epi8(static_cast<char>(mask))); }
HWY_INLINE RowBytes row_bytes_or(RowBytes a, RowBytes b) { return _mm_or_si128(a, b); }
template <int kBits>
HWY_INLINE RowBytes row_bytes_right(RowBytes a) {
  return _mm_srli_epi16(a, kBits);
}
HWY_INLINE Floats unsigned_to_floats(RowBytes bytes) { return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)); }

// The two 16-bit floats of each lane as f32: of bf16 or f16, the one in the low half or in the high one.
HWY_INLINE Floats low_bf16(Bytes pairs) { return _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16)); }
HWY_INLINE Floats high_bf16(Bytes pairs) { return _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(-65536))); }
HWY_INLINE Floats low_f16(Bytes pairs) {
  const __m256i halves = _mm256_and_si256(pairs, _mm256_set1_epi32(0xffff));
  return _mm256_cvtph_ps(_mm_packus_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1)));
}
HWY_INLINE Floats high_f16(Bytes pairs) { return low_f16(_mm256_srli_epi32(pairs, 16)); }
// values[0] in even lanes, values[1] in odd ones; and the sums of two lanes side by side, of a and then of b.
HWY_INLINE Floats splat_pair(const float* values) {
  int64_t pair = 0;
  __builtin_memcpy(&pair, values, sizeof(pair));
  return _mm256_castsi256_ps(_mm256_set1_epi64x(pair));
}
HWY_INLINE Floats add_neighbours(Floats a, Floats b) {
  return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(_mm256_hadd_ps(a, b)), 0b11'01'10'00));
}

// The register tiles of many rows fit 16 registers: four integer sums and four sums, or twelve of floats.
inline constexpr int kRunVectors = 2;
inline constexpr int kRunTokens = 2;
inline constexpr int kFloatTokens = 6;
// Integer sums that few rows of activations may have at once.
inline constexpr int kSums = 8;
inline constexpr int64_t kFewRows = 4;
inline constexpr int64_t kFewFloatRows = 4;
inline constexpr int kFewHalfRows = 6;  // of f16
// Passes of so many rows over a tile that are quicker than expanding it: on Zen 4, from the second-level cache and from memory.
inline constexpr int64_t kFewFloatPasses = 3;
inline constexpr int64_t kFewHalfPasses = 4;
constexpr int64_t few_passes(Unpacking unpacking) { return unpacking == Unpacking::none ? 3 : 1; }
