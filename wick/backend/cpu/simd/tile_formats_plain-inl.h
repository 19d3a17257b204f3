// Formats whose quants are numbers: q4_1, q5_0, q5_1, q2_k, q3_k, q1_0, q2_0, tq1_0, tq2_0. Included behind tile_formats-inl.h.
#pragma once

// Bit c of each lane becomes the fifth bit of column c.
template <int kWord = 0>
HWY_INLINE void add_fifth_bits(Bytes bits, Block& block) {
  if constexpr (kWord < 8) {
    block.words[kWord] = bit_or(spread<4 * kWord, 1, 1, 4>(bits), block.words[kWord]);
    add_fifth_bits<kWord + 1>(bits, block);
  }
}

struct Q41 {
  static constexpr int kColumns = 32, kBytes = 20, kGroups = 1, kBlocksPerGroup = 1, kZero = 0;
  static constexpr int kScaleColumns = 32, kMinimumColumns = 32;
  static constexpr Unpacking kUnpacking = Unpacking::light;
  struct Header {
    Floats scale;
    Floats minimum;
  };

  static HWY_INLINE Header header(const std::byte* p, int row) {
    return {load_f16(unit_at<2>(p, 0, row)), multiply(load_f16(unit_at<2>(p, 1, row)), splat(-1))};
  }

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& h, int /*group*/, Block& block) {
    load_nibbles(p + 64, row, block);
    block.scale[0] = h.scale;
    block.minimum[0] = h.minimum;
  }
};

struct Q50 : F16Scale {
  static constexpr int kColumns = 32, kBytes = 22, kGroups = 1, kBlocksPerGroup = 1, kZero = 16;
  static constexpr int kScaleColumns = 32, kMinimumColumns = 0;
  static constexpr Unpacking kUnpacking = Unpacking::medium;

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& h, int /*group*/, Block& block) {
    load_nibbles(p + 32 + 64, row, block);
    add_fifth_bits(load_bytes(unit_at<4>(p + 32, 0, row)), block);
    block.scale[0] = h.scale;
  }
};

struct Q51 {
  static constexpr int kColumns = 32, kBytes = 24, kGroups = 1, kBlocksPerGroup = 1, kZero = 0;
  static constexpr int kScaleColumns = 32, kMinimumColumns = 32;
  static constexpr Unpacking kUnpacking = Unpacking::medium;
  using Header = Q41::Header;

  static HWY_INLINE Header header(const std::byte* p, int row) { return Q41::header(p, row); }

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& h, int /*group*/, Block& block) {
    load_nibbles(p + 64 + 64, row, block);
    add_fifth_bits(load_bytes(unit_at<4>(p + 64, 0, row)), block);
    block.scale[0] = h.scale;
    block.minimum[0] = h.minimum;
  }
};

// Eight words of two bits each, the ones at bit 2 · kIndex of eight units.
template <int kIndex>
HWY_INLINE void load_pairs_of_bits(const std::byte* units, int64_t first, int row, Block& block) {
  const Bytes mask = splat_byte(3);
#pragma GCC unroll 8
  for (int w = 0; w < 8; ++w) {
    block.words[w] = bit_and(shift_right<2 * kIndex>(load_bytes(unit_at<4>(units, first + w, row))), mask);
  }
}

struct Q2K {
  static constexpr int kColumns = 256, kBytes = 84, kGroups = 2, kBlocksPerGroup = 4, kZero = 0;
  static constexpr int kScaleColumns = 16, kMinimumColumns = 16;
  static constexpr bool kSlow = true;
  struct Header {
    Floats scale;
    Floats minimum;
  };

  static HWY_INLINE Header header(const std::byte* p, int row) {
    return {load_f16(unit_at<2>(p, 0, row)), load_f16(unit_at<2>(p, 1, row))};
  }

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& h, int group, Block& block) {
    load_pairs_of_bits<kIndex>(p + 64 + 256, group * 8, row, block);
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const RowBytes packed = row_byte(p + 64, 8 * group + 2 * kIndex + half, row);
      block.scale[half] = multiply(h.scale, unsigned_to_floats(row_bytes_and(packed, 15)));
      block.minimum[half] = multiply(h.minimum, unsigned_to_floats(row_bytes_and(row_bytes_right<4>(packed), 15)));
    }
  }
};

// Multiplies kCount words by their rows' factors, all products being bytes.
template <int kCount>
HWY_INLINE void scale_words(RowBytes factors, Bytes* words) {
  const Bytes factor = splat_rows(to_ints(factors));
#pragma GCC unroll 8
  for (int w = 0; w < kCount; ++w) words[w] = multiply_bytes(words[w], factor);
}

// The same with the scales multiplied into the quants: 15 · 3 is a byte.
struct ScaledQ2K {
  static constexpr int kColumns = 256, kBytes = 84, kGroups = 2, kBlocksPerGroup = 4, kZero = 0;
  static constexpr int kScaleColumns = 256, kMinimumColumns = 16;
  using Header = Q2K::Header;

  static HWY_INLINE Header header(const std::byte* p, int row) { return Q2K::header(p, row); }

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& h, int group, Block& block) {
    load_pairs_of_bits<kIndex>(p + 64 + 256, group * 8, row, block);
    block.scale[0] = h.scale;
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const RowBytes packed = row_byte(p + 64, 8 * group + 2 * kIndex + half, row);
      scale_words<4>(row_bytes_and(packed, 15), block.words + 4 * half);
      block.minimum[half] = multiply(h.minimum, unsigned_to_floats(row_bytes_and(row_bytes_right<4>(packed), 15)));
    }
  }
};

struct Q3K : F16Scale {
  static constexpr int kColumns = 256, kBytes = 110, kGroups = 1, kBlocksPerGroup = 8, kZero = 4;
  static constexpr int kScaleColumns = 16, kMinimumColumns = 0;
  static constexpr bool kSlow = true;

  // The 6-bit scale of run kRun of 16 columns, see unpack_q3_k_scale().
  template <int kRun>
  static HWY_INLINE RowBytes scale_bits(const std::byte* packed, int row) {
    const RowBytes low = row_bytes_and(row_bytes_right<kRun / 8 * 4>(row_byte(packed, kRun % 8, row)), 15);
    const RowBytes high = row_byte(packed, 8 + kRun % 4, row);
    constexpr int kUp = 4 - kRun / 4 * 2;
    if constexpr (kUp >= 0) return row_bytes_or(low, row_bytes_and(row_bytes_left<kUp>(high), 0x30));
    if constexpr (kUp < 0) return row_bytes_or(low, row_bytes_and(row_bytes_right<2>(high), 0x30));
  }

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& h, int /*group*/, Block& block) {
    const std::byte* packed = p + 32;
    const std::byte* high_bits = packed + 12 * 16;
    load_pairs_of_bits<kIndex % 4>(high_bits + 8 * 64, kIndex / 4 * 8, row, block);
    const Bytes mask = splat_byte(4);
#pragma GCC unroll 8
    for (int w = 0; w < 8; ++w) {
      Bytes bits = load_bytes(unit_at<4>(high_bits, w, row));
      if constexpr (kIndex < 2) bits = shift_left<2 - kIndex>(bits);
      if constexpr (kIndex > 2) bits = shift_right<kIndex - 2>(bits);
      block.words[w] = and_or(bits, mask, block.words[w]);
    }
    const Floats zero_point = splat(-32);
    block.scale[0] = multiply(h.scale, add(unsigned_to_floats(scale_bits<2 * kIndex>(packed, row)), zero_point));
    block.scale[1] = multiply(h.scale, add(unsigned_to_floats(scale_bits<2 * kIndex + 1>(packed, row)), zero_point));
  }
};

// The same with the scales multiplied into the quants, which then have one scale in 256 columns: with a 6-bit scale s and a quant
// q = low + 4 · high, (s - 32) · (q - 4) is from -124 to 128, so that adding 124 makes it a byte. Modulo 256 that byte is
//   s · low + s · 4 high - 32 · q + 252 - 4 s,
// whose products are bytes too.
struct ScaledQ3K : F16Scale {
  static constexpr int kColumns = 256, kBytes = 110, kGroups = 1, kBlocksPerGroup = 8, kZero = 124;
  static constexpr int kScaleColumns = 256, kMinimumColumns = 0;
  template <int kRun>
  static HWY_INLINE void scale_half(const std::byte* packed, int row, Bytes* words) {
    const Bytes scale = splat_rows(to_ints(Q3K::scale_bits<kRun>(packed, row)));
    const Bytes base = bytes_subtract(splat_byte(252), shift_left<2>(scale));
    const Bytes low_bits = splat_byte(3);
    const Bytes high_bit = splat_byte(4);
#pragma GCC unroll 4
    for (int w = 0; w < 4; ++w) {
      const Bytes low = multiply_bytes(bit_and(words[w], low_bits), scale);
      const Bytes high = multiply_bytes(bit_and(words[w], high_bit), scale);
      words[w] = bytes_add(bytes_subtract(bytes_add(low, high), shift_left<5>(words[w])), base);
    }
  }

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& h, int group, Block& block) {
    Q3K::load<kIndex>(p, row, h, group, block);
    scale_half<2 * kIndex>(p + 32, row, block.words);
    scale_half<2 * kIndex + 1>(p + 32, row, block.words + 4);
    block.scale[0] = h.scale;
  }
};

// Signs: a set bit is +1, a clear one -1.
struct Q10 : F16Scale {
  static constexpr int kColumns = 128, kBytes = 18, kGroups = 4, kBlocksPerGroup = 1, kZero = 1;
  static constexpr int kScaleColumns = 32, kMinimumColumns = 0;
  static constexpr Unpacking kUnpacking = Unpacking::light;

  template <int kWord = 0>
  static HWY_INLINE void place(Bytes bits, Block& block) {
    if constexpr (kWord < 8) {
      block.words[kWord] = spread<4 * kWord, 1, 1, 1>(bits);
      place<kWord + 1>(bits, block);
    }
  }

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& h, int group, Block& block) {
    place(load_bytes(unit_at<4>(p + 32, group, row)), block);
    block.scale[0] = h.scale;
  }
};

struct Q20 : F16Scale {
  static constexpr int kColumns = 64, kBytes = 18, kGroups = 2, kBlocksPerGroup = 1, kZero = 1;
  static constexpr int kScaleColumns = 32, kMinimumColumns = 0;
  static constexpr Unpacking kUnpacking = Unpacking::light;

  // Byte kWord of a lane holds the four codes of a word.
  template <int kWord = 0>
  static HWY_INLINE void place(Bytes first, Bytes second, Block& block) {
    if constexpr (kWord < 4) {
      block.words[kWord] = spread<8 * kWord, 2, 2, 0>(first);
      block.words[kWord + 4] = spread<8 * kWord, 2, 2, 0>(second);
      place<kWord + 1>(first, second, block);
    }
  }

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& h, int group, Block& block) {
    place(load_bytes(unit_at<4>(p + 32, 2 * group, row)), load_bytes(unit_at<4>(p + 32, 2 * group + 1, row)), block);
    block.scale[0] = h.scale;
  }
};

struct TQ20 : F16Scale {
  static constexpr int kColumns = 256, kBytes = 66, kGroups = 2, kZero = 1;
  static constexpr int kScaleColumns = 256, kMinimumColumns = 0;
  static constexpr Unpacking kUnpacking = Unpacking::light;
  static constexpr int kPlaces = 4, kPlaceBits = 2;

  template <bool kDown>
  static HWY_INLINE void load_places(const std::byte* p, int row, int group, int w, Bytes (&words)[kPlaces]) {
    place_words<kDown, kPlaceBits>(load_bytes(unit_at<4>(p + 32, group * 8 + w, row)), words);
  }
};

// Units 0 to 7 hold digits 0 to 4 of blocks 0 to 4; units 8 to 11 the digits of half blocks 10 to 14; unit 12 those of the last four
// words. See BlockTQ1_0.
struct TQ10 : F16Scale {
  static constexpr int kColumns = 256, kBytes = 54, kGroups = 1, kBlocksPerGroup = 8, kZero = 1;
  static constexpr int kScaleColumns = 256, kMinimumColumns = 0;

  template <int kDigit, int kWords>
  static HWY_INLINE void place(const std::byte* units, int row, Bytes* words) {
#pragma GCC unroll 8
    for (int w = 0; w < kWords; ++w) words[w] = ternary_digit<kDigit>(load_bytes(unit_at<4>(units, w, row)));
  }

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& h, int /*group*/, Block& block) {
    const std::byte* units = p + 32;
    block.scale[0] = h.scale;
    if constexpr (kIndex < 5) {
      place<kIndex, 8>(units, row, block.words);
    } else if constexpr (kIndex < 7) {
      place<2 * (kIndex - 5), 4>(units + 8 * 64, row, block.words);
      place<2 * (kIndex - 5) + 1, 4>(units + 8 * 64, row, block.words + 4);
    } else {
      place<4, 4>(units + 8 * 64, row, block.words);
      const Bytes last = load_bytes(unit_at<4>(units, 12, row));
      block.words[4] = ternary_digit<0>(last);
      block.words[5] = ternary_digit<1>(last);
      block.words[6] = ternary_digit<2>(last);
      block.words[7] = ternary_digit<3>(last);
    }
  }
};
