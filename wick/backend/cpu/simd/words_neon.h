// The vector operations that tile kernels are written in, by NEON, with the dot products of WICK_NEON_DOT or WICK_NEON_I8MM where they are
// defined: a vector holds the same four columns of 4 weight rows, one row in each 32-bit lane. Included between the includes and the
// kernels of a source file.
#pragma once

inline constexpr int kVectorRows = 4;

using Bytes = uint8x16_t;
using Ints = int32x4_t;
using Floats = float32x4_t;

HWY_INLINE Bytes load_bytes(const std::byte* p) { return vld1q_u8(reinterpret_cast<const uint8_t*>(p)); }
HWY_INLINE void store_bytes(Bytes bytes, std::byte* p) { vst1q_u8(reinterpret_cast<uint8_t*>(p), bytes); }
HWY_INLINE Bytes splat_byte(int byte) { return vdupq_n_u8(static_cast<uint8_t>(byte)); }
HWY_INLINE Bytes bit_and(Bytes a, Bytes b) { return vandq_u8(a, b); }
HWY_INLINE Bytes bit_or(Bytes a, Bytes b) { return vorrq_u8(a, b); }
// Shifts may move bits between the two bytes of a 16-bit lane on other machines: mask what came from the neighbour.
template <int kBits>
HWY_INLINE Bytes shift_left(Bytes a) {
  if constexpr (kBits == 0) return a;
  return vshlq_n_u8(a, kBits);
}
template <int kBits>
HWY_INLINE Bytes shift_right(Bytes a) {
  if constexpr (kBits == 0) return a;
  return vshlq_u8(a, vdupq_n_s8(-kBits));
}
HWY_INLINE Bytes shift_right(Bytes a, int bits) { return vshlq_u8(a, vdupq_n_s8(static_cast<int8_t>(-bits))); }

HWY_INLINE Ints splat_int(int32_t value) { return vdupq_n_s32(value); }
HWY_INLINE Ints splat_word(const int8_t* p) {
  int32_t word;
  __builtin_memcpy(&word, p, sizeof(word));
  return vdupq_n_s32(word);
}

// Whether only what multiplies differs from a set whose kernels are in the table already.
#if defined(WICK_NEON_DOT) || defined(WICK_NEON_I8MM)
inline constexpr bool kDotOnly = true;
#else
inline constexpr bool kDotOnly = false;
#endif

// dot() adds the products of the four bytes u - kDotBias of each lane with the four signed ones of `word` to sums.
#if defined(WICK_NEON_I8MM)
inline constexpr int kDotBias = 0;
HWY_INLINE Ints dot(Ints sums, Bytes u, Ints word) { return vusdotq_s32(sums, u, vreinterpretq_s8_s32(word)); }
#else
inline constexpr int kDotBias = 128;
HWY_INLINE Ints dot(Ints sums, Bytes u, Ints word) {
  const int8x16_t weights = vreinterpretq_s8_u8(veorq_u8(u, vdupq_n_u8(128)));
  const int8x16_t quants = vreinterpretq_s8_s32(word);
#if defined(WICK_NEON_DOT)
  return vdotq_s32(sums, weights, quants);
#else
  const int16x8_t low = vmull_s8(vget_low_s8(weights), vget_low_s8(quants));
  const int16x8_t high = vmull_high_s8(weights, quants);
  return vaddq_s32(sums, vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high)));
#endif
}
#endif

HWY_INLINE Floats zero() { return vdupq_n_f32(0); }
HWY_INLINE Floats splat(float value) { return vdupq_n_f32(value); }
HWY_INLINE Floats load(const float* p) { return vld1q_f32(p); }
HWY_INLINE void store(Floats value, float* p) { vst1q_f32(p, value); }
HWY_INLINE Floats to_floats(Ints value) { return vcvtq_f32_s32(value); }
HWY_INLINE Floats add(Floats a, Floats b) { return vaddq_f32(a, b); }
HWY_INLINE Floats multiply(Floats a, Floats b) { return vmulq_f32(a, b); }
HWY_INLINE Floats multiply_add(Floats a, Floats b, Floats sum) { return vfmaq_f32(sum, a, b); }
HWY_INLINE Floats multiply_subtract(Floats a, Floats b, Floats sum) { return vfmsq_f32(sum, a, b); }  // sum - a · b

// One number a row as floats: 16-bit floats, and signed or unsigned bytes.
HWY_INLINE Floats load_f16(const std::byte* p) {
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(reinterpret_cast<const uint16_t*>(p))));
}
// Bytes of one row each, in the low part of a vector of which the rest means nothing.
using RowBytes = uint8x8_t;
HWY_INLINE RowBytes load_row_bytes(const std::byte* p) {
  uint32_t bytes;
  __builtin_memcpy(&bytes, p, sizeof(bytes));
  return vreinterpret_u8_u32(vdup_n_u32(bytes));
}
HWY_INLINE RowBytes row_bytes_and(RowBytes a, int mask) { return vand_u8(a, vdup_n_u8(static_cast<uint8_t>(mask))); }
HWY_INLINE RowBytes row_bytes_or(RowBytes a, RowBytes b) { return vorr_u8(a, b); }
template <int kBits>
HWY_INLINE RowBytes row_bytes_right(RowBytes a) {
  return vshl_u8(a, vdup_n_s8(-kBits));
}
HWY_INLINE Floats unsigned_to_floats(RowBytes bytes) { return vcvtq_f32_u32(vmovl_u16(vget_low_u16(vmovl_u8(bytes)))); }

// The two 16-bit floats of each lane as f32: of bf16 or f16, the one in the low half or in the high one.
HWY_INLINE Floats low_bf16(Bytes pairs) { return vreinterpretq_f32_u32(vshlq_n_u32(vreinterpretq_u32_u8(pairs), 16)); }
HWY_INLINE Floats high_bf16(Bytes pairs) { return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_u8(pairs), vdupq_n_u32(0xffff0000))); }
HWY_INLINE Floats low_f16(Bytes pairs) { return vcvt_f32_f16(vreinterpret_f16_u16(vmovn_u32(vreinterpretq_u32_u8(pairs)))); }
HWY_INLINE Floats high_f16(Bytes pairs) { return vcvt_f32_f16(vreinterpret_f16_u16(vshrn_n_u32(vreinterpretq_u32_u8(pairs), 16))); }
// values[0] in even lanes, values[1] in odd ones; and the sums of two lanes side by side, of a and then of b.
HWY_INLINE Floats splat_pair(const float* values) {
  double pair;
  __builtin_memcpy(&pair, values, sizeof(pair));
  return vreinterpretq_f32_f64(vdupq_n_f64(pair));
}
HWY_INLINE Floats add_neighbours(Floats a, Floats b) { return vpaddq_f32(a, b); }

// The register tiles of many rows: eight integer sums and eight sums, or sixteen of floats.
inline constexpr int kRunVectors = 4;
inline constexpr int kRunTokens = 2;
inline constexpr int kFloatTokens = 8;
// Integer sums that few rows of activations may have at once.
inline constexpr int kSums = 16;
inline constexpr int64_t kFewRows = 4;
inline constexpr int64_t kFewFloatRows = 4;
inline constexpr int kFewHalfRows = 8;  // of f16
// Passes of so many rows over a tile that are quicker than expanding it: not measured.
inline constexpr int64_t kFewFloatPasses = 1;
inline constexpr int64_t kFewHalfPasses = 1;
constexpr int64_t few_passes(Unpacking /*unpacking*/) { return 1; }
