// Vector operations that unpack formats with irregular bits, for AVX-512 with VBMI, in addition to words_avx512.h.
#pragma once

#include "wick/backend/cpu/simd/words_avx512.h"

HWY_INLINE Bytes bit_xor(Bytes a, Bytes b) { return _mm512_xor_si512(a, b); }
// (a & mask) | base
HWY_INLINE Bytes and_or(Bytes a, Bytes mask, Bytes base) { return _mm512_ternarylogic_epi64(a, mask, base, 0xEA); }

// Byte j of a lane's half of a 64-bit word picks eight bits from a place of that word on, which wraps around.
template <int kFirst, int kStep, int kPlace>
constexpr uint64_t spread_picks() {
  uint64_t picks = 0;
  for (int byte = 0; byte < 8; ++byte) {
    const int place = byte / 4 * 32 + kFirst + byte % 4 * kStep - kPlace;
    picks |= static_cast<uint64_t>(place & 63) << (8 * byte);
  }
  return picks;
}
template <int kFirst, int kStep, int kPlace>
inline constexpr uint64_t kSpreadPicks = spread_picks<kFirst, kStep, kPlace>();

// Byte j of each lane is the lane's bits from kFirst + j · kStep on, kWidth of them, moved to bit kPlace; the other bits are 0.
template <int kFirst, int kStep, int kWidth, int kPlace>
HWY_INLINE Bytes spread(Bytes lanes) {
  const Bytes picks = _mm512_set1_epi64(static_cast<int64_t>(kSpreadPicks<kFirst, kStep, kPlace>));
  return bit_and(_mm512_multishift_epi64_epi8(picks, lanes), splat_byte(((1 << kWidth) - 1) << kPlace));
}
// The same, but the other bits mean nothing.
template <int kFirst, int kStep, int kWidth, int kPlace>
HWY_INLINE Bytes spread_loose(Bytes lanes) {
  return _mm512_multishift_epi64_epi8(_mm512_set1_epi64(static_cast<int64_t>(kSpreadPicks<kFirst, kStep, kPlace>)), lanes);
}
// Bits of a where mask has them set, of b elsewhere.
HWY_INLINE Bytes select_bits(Bytes mask, Bytes a, Bytes b) { return _mm512_ternarylogic_epi64(mask, a, b, 0xCA); }

// 16-bit lanes with the even (odd) bytes of a below those of b.
HWY_INLINE Bytes even_bytes(Bytes a, Bytes b) { return and_or(a, _mm512_set1_epi16(255), _mm512_slli_epi16(b, 8)); }
HWY_INLINE Bytes odd_bytes(Bytes a, Bytes b) { return and_or(b, _mm512_set1_epi16(static_cast<int16_t>(0xff00)), _mm512_srli_epi16(a, 8)); }

// A table of 16 bytes, and the entries that the bytes of `codes`, all below 16, name.
HWY_INLINE Bytes load_table(const uint8_t* table) {
  return _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(table)));
}
HWY_INLINE Bytes look_up(Bytes table, Bytes codes) { return _mm512_shuffle_epi8(table, codes); }
// The same by the low kBits of each code, whatever is above.
using LooseTable = Bytes;
HWY_INLINE LooseTable load_loose_table(const RepeatedTable& table) { return _mm512_load_si512(table.data()); }
template <int kBits>
HWY_INLINE Bytes look_up_loose(LooseTable table, Bytes codes) {
  return _mm512_permutexvar_epi8(codes, table);
}

// Entries low + 256 · high of tables of 256 << kHighBits bytes, aligned to 64: two registers of a table are searched at a time, and the
// other bits choose among what is found.
template <int kHighBits>
HWY_INLINE Bytes look_up_half(const uint8_t* table, Bytes low, const __mmask64* bits) {
  if constexpr (kHighBits < 0) {
    return _mm512_permutex2var_epi8(_mm512_load_si512(table), low, _mm512_load_si512(table + 64));
  } else {
    const Bytes below = look_up_half<kHighBits - 1>(table, low, bits);
    return _mm512_mask_mov_epi8(below, bits[kHighBits], look_up_half<kHighBits - 1>(table + (128 << kHighBits), low, bits));
  }
}
template <int kHighBits>
HWY_INLINE void look_up_planes(const uint8_t* first_table, const uint8_t* second_table, Bytes low, Bytes high, Bytes& first,
                               Bytes& second) {
  __mmask64 bits[kHighBits + 1];
  bits[0] = _mm512_movepi8_mask(low);
#pragma GCC unroll 4
  for (int bit = 1; bit <= kHighBits; ++bit) bits[bit] = _mm512_test_epi8_mask(high, splat_byte(1 << (bit - 1)));
  first = look_up_half<kHighBits>(first_table, low, bits);
  second = look_up_half<kHighBits>(second_table, low, bits);
}

// The same for many vectors, which share the reading of long tables: what is not found yet stays an index.
template <int kHighBits, int kVectors>
HWY_INLINE void look_up_many(const uint8_t* first_table, const uint8_t* second_table, const Bytes (&low)[kVectors],
                             const Bytes (&high)[kVectors], Bytes (&first)[kVectors], Bytes (&second)[kVectors]) {
  Bytes chunks[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    const Bytes above = kHighBits == 0 ? _mm512_setzero_si512() : _mm512_add_epi8(high[v], high[v]);
    chunks[v] = and_or(_mm512_srli_epi16(low[v], 7), splat_byte(1), above);
    first[v] = low[v];
    second[v] = low[v];
  }
  for (int chunk = 0; chunk < 2 << kHighBits; ++chunk) {
    const Bytes number = splat_byte(chunk);
    const Bytes first0 = _mm512_load_si512(first_table + 128 * chunk);
    const Bytes first1 = _mm512_load_si512(first_table + 128 * chunk + 64);
    const Bytes second0 = _mm512_load_si512(second_table + 128 * chunk);
    const Bytes second1 = _mm512_load_si512(second_table + 128 * chunk + 64);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const __mmask64 here = _mm512_cmpeq_epi8_mask(chunks[v], number);
      first[v] = _mm512_mask2_permutex2var_epi8(first0, first[v], here, first1);
      second[v] = _mm512_mask2_permutex2var_epi8(second0, second[v], here, second1);
    }
  }
}

// Digit kDigit of the bytes of tq1_0.
template <int kDigit>
HWY_INLINE Bytes ternary_digit(Bytes bytes) {
  const uint8_t* table = kTernaryDigits<kDigit>.data();
  const Bytes low = _mm512_permutex2var_epi8(_mm512_load_si512(table), bytes, _mm512_load_si512(table + 64));
  const Bytes high = _mm512_permutex2var_epi8(_mm512_load_si512(table + 128), bytes, _mm512_load_si512(table + 192));
  return _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(bytes), high);
}

// Seven bits from kShift on, and above them the bit that makes the number of set ones even.
template <int kShift>
HWY_INLINE Bytes complete_signs(Bytes bytes) {
  const Bytes seven = bit_and(kShift == 0 ? bytes : _mm512_srli_epi16(bytes, kShift), splat_byte(127));
  return and_or(_mm512_slli_epi16(_mm512_popcnt_epi8(seven), 7), splat_byte(0x80), seven);
}

// Integers of 32 bits, one a row.
HWY_INLINE Ints as_ints(Bytes lanes) { return lanes; }
HWY_INLINE Ints ints_add(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
HWY_INLINE Ints ints_and(Ints a, Ints b) { return _mm512_and_si512(a, b); }
HWY_INLINE Ints ints_multiply(Ints a, Ints b) { return _mm512_mullo_epi32(a, b); }
HWY_INLINE Ints ints_right(Ints a, int bits) { return _mm512_srl_epi32(a, _mm_cvtsi32_si128(bits)); }
// Signed.
template <int kBits>
HWY_INLINE Ints ints_down(Ints a) {
  return _mm512_srai_epi32(a, kBits);
}
template <int kBits>
HWY_INLINE Ints ints_left(Ints a) {
  return _mm512_slli_epi32(a, kBits);
}
template <int kFirst, int kWidth>
HWY_INLINE Ints int_bits(Ints a) {
  return _mm512_and_si512(_mm512_srli_epi32(a, kFirst), _mm512_set1_epi32((1 << kWidth) - 1));
}
HWY_INLINE Floats bits_as_floats(Ints bits) { return _mm512_castsi512_ps(bits); }
// The low 16 bits of each as an f16.
HWY_INLINE Floats f16_bits_to_floats(Ints bits) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(bits)); }
HWY_INLINE Ints load_row_shorts(const std::byte* p) {
  return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
HWY_INLINE Ints signed_to_ints(RowBytes bytes) { return _mm512_cvtepi8_epi32(bytes); }
HWY_INLINE Ints to_ints(RowBytes bytes) { return _mm512_cvtepu8_epi32(bytes); }
template <int kBits>
HWY_INLINE RowBytes row_bytes_left(RowBytes a) {
  return _mm_slli_epi16(a, kBits);
}
HWY_INLINE RowBytes zero_where_equal(RowBytes a, int value) {
  return _mm_andnot_si128(_mm_cmpeq_epi8(a, _mm_set1_epi8(static_cast<char>(value))), a);
}

HWY_INLINE Bytes bytes_add(Bytes a, Bytes b) { return _mm512_add_epi8(a, b); }
HWY_INLINE Bytes bytes_subtract(Bytes a, Bytes b) { return _mm512_sub_epi8(a, b); }
// Products of bytes below 256, each byte of b being the same in its lane.
HWY_INLINE Bytes multiply_bytes(Bytes a, Bytes b) { return _mm512_mullo_epi16(a, bit_and(b, _mm512_set1_epi16(255))); }
// Each row's number, below 256, in all four bytes of its lane.
HWY_INLINE Bytes splat_rows(Ints bytes) {
  return _mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(_mm_set_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0)));
}
