// Vector operations that unpack formats with irregular bits, for AVX2, in addition to words_avx2.h.
#pragma once

#include "wick/backend/cpu/simd/words_avx2.h"

HWY_INLINE Bytes bit_xor(Bytes a, Bytes b) { return _mm256_xor_si256(a, b); }
// (a & mask) | base
HWY_INLINE Bytes and_or(Bytes a, Bytes mask, Bytes base) { return bit_or(bit_and(a, mask), base); }

// For the bytes of two lanes from lane kLane on, the place of the byte that holds bit kFirst + j · kStep of its lane.
template <int kFirst, int kStep, int kLane>
constexpr int64_t byte_places() {
  uint64_t places = 0;
  for (int byte = 0; byte < 8; ++byte) {
    const int place = (kLane + byte / 4) * 4 + (kFirst + byte % 4 * kStep) / 8;
    places |= static_cast<uint64_t>(place) << (8 * byte);
  }
  return static_cast<int64_t>(places);
}
// That bit, in its byte.
template <int kFirst, int kStep>
constexpr int32_t bits_in_bytes() {
  uint32_t bits = 0;
  for (int byte = 0; byte < 4; ++byte) bits |= 1u << ((kFirst + byte * kStep) % 8 + 8 * byte);
  return static_cast<int32_t>(bits);
}

// Byte kByte of spread().
template <int kFirst, int kStep, int kWidth, int kPlace, int kByte>
HWY_INLINE Bytes spread_byte(Bytes lanes) {
  constexpr int kRight = kFirst + kByte * kStep - kPlace - 8 * kByte;
  constexpr uint32_t kMask = (((1u << kWidth) - 1) << kPlace) << (8 * kByte);
  const Bytes moved = kRight >= 0 ? _mm256_srli_epi32(lanes, kRight >= 0 ? kRight : 0) : _mm256_slli_epi32(lanes, kRight < 0 ? -kRight : 0);
  return bit_and(moved, _mm256_set1_epi32(static_cast<int32_t>(kMask)));
}

// Byte j of each lane is the lane's bits from kFirst + j · kStep on, kWidth of them, moved to bit kPlace; the other bits are 0.
template <int kFirst, int kStep, int kWidth, int kPlace>
HWY_INLINE Bytes spread(Bytes lanes) {
  if constexpr (kWidth == 1) {
    constexpr int64_t kLow = byte_places<kFirst, kStep, 0>();
    constexpr int64_t kHigh = byte_places<kFirst, kStep, 2>();
    const Bytes bits = _mm256_set1_epi32(bits_in_bytes<kFirst, kStep>());
    const Bytes bytes = _mm256_shuffle_epi8(lanes, _mm256_set_epi64x(kHigh, kLow, kHigh, kLow));
    return bit_and(_mm256_cmpeq_epi8(bit_and(bytes, bits), bits), splat_byte(1 << kPlace));
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
HWY_INLINE Bytes select_bits(Bytes mask, Bytes a, Bytes b) { return bit_or(bit_and(mask, a), _mm256_andnot_si256(mask, b)); }

// 16-bit lanes with the even (odd) bytes of a below those of b.
HWY_INLINE Bytes even_bytes(Bytes a, Bytes b) { return and_or(a, _mm256_set1_epi16(255), _mm256_slli_epi16(b, 8)); }
HWY_INLINE Bytes odd_bytes(Bytes a, Bytes b) { return and_or(b, _mm256_set1_epi16(static_cast<int16_t>(0xff00)), _mm256_srli_epi16(a, 8)); }

// A table of 16 bytes, and the entries that the bytes of `codes`, all below 16, name.
HWY_INLINE Bytes load_table(const uint8_t* table) {
  return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(table)));
}
HWY_INLINE Bytes look_up(Bytes table, Bytes codes) { return _mm256_shuffle_epi8(table, codes); }
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
  for (int step = 0; step < kDigit; ++step) bytes = _mm256_add_epi8(_mm256_add_epi8(bytes, bytes), bytes);
  const Bytes above_one = _mm256_cmpeq_epi8(_mm256_max_epu8(bytes, splat_byte(86)), bytes);
  const Bytes above_two = _mm256_cmpeq_epi8(_mm256_max_epu8(bytes, splat_byte(171)), bytes);
  return _mm256_sub_epi8(_mm256_setzero_si256(), _mm256_add_epi8(above_one, above_two));
}

// Seven bits from kShift on, and above them the bit that makes the number of set ones even.
template <int kShift>
HWY_INLINE Bytes complete_signs(Bytes bytes) {
  const __m128i parities = _mm_set_epi8(0, -128, -128, 0, -128, 0, 0, -128, -128, 0, 0, -128, 0, -128, -128, 0);
  const Bytes table = _mm256_broadcastsi128_si256(parities);
  const Bytes seven = bit_and(shift_right<kShift>(bytes), splat_byte(127));
  const Bytes low = look_up(table, bit_and(seven, splat_byte(15)));
  const Bytes high = look_up(table, bit_and(shift_right<4>(seven), splat_byte(15)));
  return bit_or(seven, bit_xor(low, high));
}

// Integers of 32 bits, one a row.
HWY_INLINE Ints as_ints(Bytes lanes) { return lanes; }
HWY_INLINE Ints ints_add(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
HWY_INLINE Ints ints_and(Ints a, Ints b) { return _mm256_and_si256(a, b); }
HWY_INLINE Ints ints_multiply(Ints a, Ints b) { return _mm256_mullo_epi32(a, b); }
HWY_INLINE Ints ints_right(Ints a, int bits) { return _mm256_srl_epi32(a, _mm_cvtsi32_si128(bits)); }
// Signed.
template <int kBits>
HWY_INLINE Ints ints_down(Ints a) {
  return _mm256_srai_epi32(a, kBits);
}
template <int kBits>
HWY_INLINE Ints ints_left(Ints a) {
  return _mm256_slli_epi32(a, kBits);
}
template <int kFirst, int kWidth>
HWY_INLINE Ints int_bits(Ints a) {
  return _mm256_and_si256(_mm256_srli_epi32(a, kFirst), _mm256_set1_epi32((1 << kWidth) - 1));
}
HWY_INLINE Floats bits_as_floats(Ints bits) { return _mm256_castsi256_ps(bits); }
// The low 16 bits of each, whose high ones are 0, as an f16.
HWY_INLINE Floats f16_bits_to_floats(Ints bits) {
  return _mm256_cvtph_ps(_mm_packus_epi32(_mm256_castsi256_si128(bits), _mm256_extracti128_si256(bits, 1)));
}
HWY_INLINE Ints load_row_shorts(const std::byte* p) { return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
HWY_INLINE Ints signed_to_ints(RowBytes bytes) { return _mm256_cvtepi8_epi32(bytes); }
HWY_INLINE Ints to_ints(RowBytes bytes) { return _mm256_cvtepu8_epi32(bytes); }
template <int kBits>
HWY_INLINE RowBytes row_bytes_left(RowBytes a) {
  return _mm_slli_epi16(a, kBits);
}
HWY_INLINE RowBytes zero_where_equal(RowBytes a, int value) {
  return _mm_andnot_si128(_mm_cmpeq_epi8(a, _mm_set1_epi8(static_cast<char>(value))), a);
}

HWY_INLINE Bytes bytes_add(Bytes a, Bytes b) { return _mm256_add_epi8(a, b); }
HWY_INLINE Bytes bytes_subtract(Bytes a, Bytes b) { return _mm256_sub_epi8(a, b); }
// Products of bytes below 256, each byte of b being the same in its lane.
HWY_INLINE Bytes multiply_bytes(Bytes a, Bytes b) { return _mm256_mullo_epi16(a, bit_and(b, _mm256_set1_epi16(255))); }
// Each row's number, below 256, in all four bytes of its lane.
HWY_INLINE Bytes splat_rows(Ints bytes) {
  return _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(_mm_set_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0)));
}

#include "wick/backend/cpu/simd/byte_look_up-inl.h"  // in the operations above
