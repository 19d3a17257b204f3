// The vector operations that tile kernels are written in, by AVX-512 VNNI: a vector holds the same four columns of 16 weight rows, one
// row in each 32-bit lane. Included between the includes and the kernels of the source file of this instruction set.
#pragma once

inline constexpr int kVectorRows = 16;
// Whether only what multiplies differs from a set whose kernels are in the table already.
inline constexpr bool kDotOnly = false;
// dot() adds (u - kDotBias) · q.
inline constexpr int kDotBias = 0;

using Bytes = __m512i;
using Ints = __m512i;
using Floats = __m512;

HWY_INLINE Bytes load_bytes(const std::byte* p) { return _mm512_loadu_si512(p); }
HWY_INLINE void store_bytes(Bytes bytes, std::byte* p) { _mm512_storeu_si512(p, bytes); }
HWY_INLINE Bytes splat_byte(int byte) { return _mm512_set1_epi8(static_cast<char>(byte)); }
HWY_INLINE Bytes bit_and(Bytes a, Bytes b) { return _mm512_and_si512(a, b); }
HWY_INLINE Bytes bit_or(Bytes a, Bytes b) { return _mm512_or_si512(a, b); }
// Shifts move bits between the two bytes of a 16-bit lane: mask what came from the neighbour.
template <int kBits>
HWY_INLINE Bytes shift_left(Bytes a) {
  return _mm512_slli_epi16(a, kBits);
}
template <int kBits>
HWY_INLINE Bytes shift_right(Bytes a) {
  return _mm512_srli_epi16(a, kBits);
}
HWY_INLINE Bytes shift_right(Bytes a, int bits) { return _mm512_srl_epi16(a, _mm_cvtsi32_si128(bits)); }

HWY_INLINE Ints splat_int(int32_t value) { return _mm512_set1_epi32(value); }
HWY_INLINE Ints splat_word(const int8_t* p) {
  int32_t word = 0;
  __builtin_memcpy(&word, p, sizeof(word));
  return _mm512_set1_epi32(word);
}
// sums + the products of the four unsigned bytes u of each lane with the four signed ones of `word`.
HWY_INLINE Ints dot(Ints sums, Bytes u, Ints word) { return _mm512_dpbusd_epi32(sums, u, word); }

HWY_INLINE Floats zero() { return _mm512_setzero_ps(); }
HWY_INLINE Floats splat(float value) { return _mm512_set1_ps(value); }
HWY_INLINE Floats load(const float* p) { return _mm512_loadu_ps(p); }
HWY_INLINE void store(Floats value, float* p) { _mm512_storeu_ps(p, value); }
HWY_INLINE Floats to_floats(Ints value) { return _mm512_cvtepi32_ps(value); }
HWY_INLINE Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
HWY_INLINE Floats multiply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
HWY_INLINE Floats multiply_add(Floats a, Floats b, Floats sum) { return _mm512_fmadd_ps(a, b, sum); }
HWY_INLINE Floats multiply_subtract(Floats a, Floats b, Floats sum) { return _mm512_fnmadd_ps(a, b, sum); }  // sum - a · b

// One number a row as floats: 16-bit floats, and signed or unsigned bytes.
HWY_INLINE Floats load_f16(const std::byte* p) { return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); }
// Bytes of one row each, in the low part of a vector of which the rest means nothing.
using RowBytes = __m128i;
HWY_INLINE RowBytes load_row_bytes(const std::byte* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
HWY_INLINE RowBytes row_bytes_and(RowBytes a, int mask) { return _mm_and_si128(a, _mm_set1_epi8(static_cast<char>(mask))); }
HWY_INLINE RowBytes row_bytes_or(RowBytes a, RowBytes b) { return _mm_or_si128(a, b); }
template <int kBits>
HWY_INLINE RowBytes row_bytes_right(RowBytes a) {
  return _mm_srli_epi16(a, kBits);
}
HWY_INLINE Floats unsigned_to_floats(RowBytes bytes) { return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes)); }

// The two 16-bit floats of each lane as f32: of bf16 or f16, the one in the low half or in the high one.
HWY_INLINE Floats low_bf16(Bytes pairs) { return _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16)); }
HWY_INLINE Floats high_bf16(Bytes pairs) { return _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(-65536))); }
HWY_INLINE Floats low_f16(Bytes pairs) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(pairs)); }
HWY_INLINE Floats high_f16(Bytes pairs) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(pairs, 16))); }
// values[0] in even lanes, values[1] in odd ones; and the sums of two lanes side by side, of a and then of b.
HWY_INLINE Floats splat_pair(const float* values) {
  int64_t pair = 0;
  __builtin_memcpy(&pair, values, sizeof(pair));
  return _mm512_castsi512_ps(_mm512_set1_epi64(pair));
}
HWY_INLINE Floats add_neighbours(Floats a, Floats b) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
  return _mm512_add_ps(_mm512_permutex2var_ps(a, even, b), _mm512_permutex2var_ps(a, odd, b));
}

// The register tile of many rows: two vectors of weights times five rows of activations are ten chains of dot products, which with their
// sums take the registers up. Four rows are up to 4 % slower, six as fast where columns share one scale and slower where they do not.
inline constexpr int kRunVectors = 2;
inline constexpr int kRunTokens = 5;
// Tokens per pass for floats: 24 sums.
inline constexpr int kFloatTokens = 12;
// Integer sums that few rows of activations may have at once.
inline constexpr int kSums = 16;
inline constexpr int64_t kFewRows = 8;
inline constexpr int64_t kFewFloatRows = 4;
inline constexpr int kFewHalfRows = 12;  // of f16
// Passes of so many rows over a tile that are quicker than expanding it, from the second-level cache and from memory. Of integers on Zen 4,
// which works on 256 bits at a time; on a Xeon they take 1.1 to 1.3 times as long. f16 gain on both.
inline constexpr int64_t kFewFloatPasses = 1;
inline constexpr int64_t kFewHalfPasses = 2;
inline int64_t few_passes(Unpacking unpacking) {
  constexpr std::array<int64_t, 4> kPasses = {5, 4, 2, 1};
  return __builtin_cpu_is("amdfam19h") ? kPasses[static_cast<size_t>(unpacking)] : 1;
}
