// Vector operations that unpack formats with irregular bits, for NEON, in addition to words_neon.h.
#pragma once

#include "wick/backend/cpu/simd/words_neon.h"

HWY_INLINE Bytes bit_xor(Bytes a, Bytes b) { return veorq_u8(a, b); }
// (a & mask) | base
HWY_INLINE Bytes and_or(Bytes a, Bytes mask, Bytes base) { return bit_or(bit_and(a, mask), base); }

// For the bytes of two lanes from lane kLane on, the place of the byte that holds bit kFirst + j · kStep of its lane.
template <int kFirst, int kStep, int kLane>
constexpr uint64_t byte_places() {
  uint64_t places = 0;
  for (int byte = 0; byte < 8; ++byte) {
    const int place = (kLane + byte / 4) * 4 + (kFirst + byte % 4 * kStep) / 8;
    places |= static_cast<uint64_t>(place) << (8 * byte);
  }
  return places;
}
// That bit, in its byte.
template <int kFirst, int kStep>
constexpr uint32_t bits_in_bytes() {
  uint32_t bits = 0;
  for (int byte = 0; byte < 4; ++byte) bits |= 1u << ((kFirst + byte * kStep) % 8 + 8 * byte);
  return bits;
}

// Byte kByte of spread().
template <int kFirst, int kStep, int kWidth, int kPlace, int kByte>
HWY_INLINE Bytes spread_byte(Bytes lanes) {
  constexpr int kRight = kFirst + kByte * kStep - kPlace - 8 * kByte;
  constexpr uint32_t kMask = (((1u << kWidth) - 1) << kPlace) << (8 * kByte);
  const uint32x4_t moved = vshlq_u32(vreinterpretq_u32_u8(lanes), vdupq_n_s32(-kRight));
  return vreinterpretq_u8_u32(vandq_u32(moved, vdupq_n_u32(kMask)));
}

// Byte j of each lane is the lane's bits from kFirst + j · kStep on, kWidth of them, moved to bit kPlace; the other bits are 0.
template <int kFirst, int kStep, int kWidth, int kPlace>
HWY_INLINE Bytes spread(Bytes lanes) {
  if constexpr (kWidth == 1) {
    constexpr uint64_t kLow = byte_places<kFirst, kStep, 0>();
    constexpr uint64_t kHigh = byte_places<kFirst, kStep, 2>();
    const Bytes bits = vreinterpretq_u8_u32(vdupq_n_u32(bits_in_bytes<kFirst, kStep>()));
    const Bytes bytes = vqtbl1q_u8(lanes, vcombine_u8(vcreate_u8(kLow), vcreate_u8(kHigh)));
    return bit_and(vtstq_u8(bytes, bits), splat_byte(1 << kPlace));
  } else {
    const Bytes low = bit_or(spread_byte<kFirst, kStep, kWidth, kPlace, 0>(lanes), spread_byte<kFirst, kStep, kWidth, kPlace, 1>(lanes));
    const Bytes high = bit_or(spread_byte<kFirst, kStep, kWidth, kPlace, 2>(lanes), spread_byte<kFirst, kStep, kWidth, kPlace, 3>(lanes));
    return bit_or(low, high);
  }
}
// The same, but the other bits mean nothing.
template <int kFirst, int kStep, int kWidth, int kPlace>
HWY_INLINE Bytes spread_loose(Bytes lanes) {
  return spread<kFirst, kStep, kWidth, kPlace>(lanes);
}
// Bits of a where mask has them set, of b elsewhere.
HWY_INLINE Bytes select_bits(Bytes mask, Bytes a, Bytes b) { return vbslq_u8(mask, a, b); }

// 16-bit lanes with the even (odd) bytes of a below those of b.
HWY_INLINE Bytes even_bytes(Bytes a, Bytes b) { return vtrn1q_u8(a, b); }
HWY_INLINE Bytes odd_bytes(Bytes a, Bytes b) { return vtrn2q_u8(a, b); }

// A table of 16 bytes, and the entries that the bytes of `codes`, all below 16, name.
HWY_INLINE Bytes load_table(const uint8_t* table) { return vld1q_u8(table); }
HWY_INLINE Bytes look_up(Bytes table, Bytes codes) { return vqtbl1q_u8(table, codes); }
// The same by the low kBits of each code, whatever is above.
using LooseTable = Bytes;
HWY_INLINE LooseTable load_loose_table(const RepeatedTable& table) { return load_table(table.data()); }
template <int kBits>
HWY_INLINE Bytes look_up_loose(LooseTable table, Bytes codes) {
  return look_up(table, bit_and(codes, splat_byte((1 << kBits) - 1)));
}

// Digit kDigit of the bytes of tq1_0: the digits before are shifted out at the top, and 3 · 86 and 3 · 171 are the first to reach 256
// and 512.
template <int kDigit>
HWY_INLINE Bytes ternary_digit(Bytes bytes) {
  for (int step = 0; step < kDigit; ++step) bytes = vaddq_u8(vaddq_u8(bytes, bytes), bytes);
  return vsubq_u8(vdupq_n_u8(0), vaddq_u8(vcgeq_u8(bytes, vdupq_n_u8(86)), vcgeq_u8(bytes, vdupq_n_u8(171))));
}

// Seven bits from kShift on, and above them the bit that makes the number of set ones even.
template <int kShift>
HWY_INLINE Bytes complete_signs(Bytes bytes) {
  const Bytes seven = bit_and(shift_right<kShift>(bytes), splat_byte(127));
  return bit_or(seven, vshlq_n_u8(vcntq_u8(seven), 7));
}

// Integers of 32 bits, one a row.
HWY_INLINE Ints as_ints(Bytes lanes) { return vreinterpretq_s32_u8(lanes); }
HWY_INLINE Ints ints_add(Ints a, Ints b) { return vaddq_s32(a, b); }
HWY_INLINE Ints ints_and(Ints a, Ints b) { return vandq_s32(a, b); }
HWY_INLINE Ints ints_multiply(Ints a, Ints b) { return vmulq_s32(a, b); }
HWY_INLINE Ints ints_right(Ints a, int bits) { return vreinterpretq_s32_u32(vshlq_u32(vreinterpretq_u32_s32(a), vdupq_n_s32(-bits))); }
// Signed.
template <int kBits>
HWY_INLINE Ints ints_down(Ints a) {
  return vshrq_n_s32(a, kBits);
}
template <int kBits>
HWY_INLINE Ints ints_left(Ints a) {
  return vshlq_n_s32(a, kBits);
}
template <int kFirst, int kWidth>
HWY_INLINE Ints int_bits(Ints a) {
  return vandq_s32(ints_right(a, kFirst), vdupq_n_s32((1 << kWidth) - 1));
}
HWY_INLINE Floats bits_as_floats(Ints bits) { return vreinterpretq_f32_s32(bits); }
// The low 16 bits of each as an f16.
HWY_INLINE Floats f16_bits_to_floats(Ints bits) { return vcvt_f32_f16(vreinterpret_f16_u16(vmovn_u32(vreinterpretq_u32_s32(bits)))); }
HWY_INLINE Ints load_row_shorts(const std::byte* p) {
  return vreinterpretq_s32_u32(vmovl_u16(vld1_u16(reinterpret_cast<const uint16_t*>(p))));
}
HWY_INLINE Ints signed_to_ints(RowBytes bytes) { return vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u8(bytes)))); }
HWY_INLINE Ints to_ints(RowBytes bytes) { return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(bytes)))); }
template <int kBits>
HWY_INLINE RowBytes row_bytes_left(RowBytes a) {
  return vshl_u8(a, vdup_n_s8(kBits));
}
HWY_INLINE RowBytes zero_where_equal(RowBytes a, int value) { return vbic_u8(a, vceq_u8(a, vdup_n_u8(static_cast<uint8_t>(value)))); }

HWY_INLINE Bytes bytes_add(Bytes a, Bytes b) { return vaddq_u8(a, b); }
HWY_INLINE Bytes bytes_subtract(Bytes a, Bytes b) { return vsubq_u8(a, b); }
// Products of bytes below 256, each byte of b being the same in its lane.
HWY_INLINE Bytes multiply_bytes(Bytes a, Bytes b) { return vmulq_u8(a, b); }
// Each row's number, below 256, in all four bytes of its lane.
HWY_INLINE Bytes splat_rows(Ints bytes) { return vreinterpretq_u8_s32(vmulq_n_s32(bytes, 0x01010101)); }

#include "wick/backend/cpu/simd/byte_look_up-inl.h"  // in the operations above
