// Formats whose codes of four bits name one of 16 values: iq4_nl, iq4_xs, mxfp4, nvfp4. Included behind tile_formats-inl.h.
#pragma once

// Replaces the codes in words [kFirst, kFirst + kCount) by their values.
template <int kFirst = 0, int kCount = 8>
HWY_INLINE void look_up_words(const uint8_t* table, Block& block) {
  const Bytes values = load_table(table);
#pragma GCC unroll 8
  for (int w = kFirst; w < kFirst + kCount; ++w) block.words[w] = look_up(values, block.words[w]);
}

struct IQ4NL : F16Scale {
  static constexpr int kColumns = 32, kBytes = 18, kGroups = 1, kBlocksPerGroup = 1, kZero = kNonlinearZero;
  static constexpr int kScaleColumns = 32, kMinimumColumns = 0;
  static constexpr Unpacking kUnpacking = Unpacking::light;

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& h, int /*group*/, Block& block) {
    load_nibbles(p + 32, row, block);
    look_up_words(kNonlinearBytes.data(), block);
    block.scale[0] = h.scale;
  }
};

struct IQ4XS {
  static constexpr int kColumns = 256, kBytes = 136, kGroups = 4, kBlocksPerGroup = 2, kZero = kNonlinearZero;
  static constexpr int kScaleColumns = 32, kMinimumColumns = 0;
  struct Header {
    Floats scale;
    Ints high_scales;
  };

  static HWY_INLINE Header header(const std::byte* p, int row) {
    return {load_f16(unit_at<2>(p, 0, row)), load_row_shorts(unit_at<2>(p, 1, row))};
  }

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& h, int group, Block& block) {
    load_nibbles(p + 64 + 64 + (2 * group + kIndex) * 256, row, block);
    look_up_words(kNonlinearBytes.data(), block);
    const Ints low = int_bits<4 * kIndex, 4>(to_ints(row_byte(p + 64, group, row)));
    const Ints high = int_bits<2 * kIndex, 2>(ints_right(h.high_scales, 4 * group));
    const Floats scale = multiply_add(to_floats(high), splat(16), add(to_floats(low), splat(-32)));
    block.scale[0] = multiply(h.scale, scale);
  }
};

struct MXFP4 {
  static constexpr int kColumns = 32, kBytes = 17, kGroups = 1, kBlocksPerGroup = 1, kZero = kFloat4Zero;
  static constexpr int kScaleColumns = 32, kMinimumColumns = 0;
  using Header = Q80::Header;

  // 2^(e - 128) as the product of two powers whose exponents are within those of normal numbers.
  static HWY_INLINE Header header(const std::byte* p, int row) {
    const Ints exponent = to_ints(row_byte(p, 0, row));
    const Ints base = splat_int(63 << 23);
    const Ints lower_half = ints_left<23>(int_bits<1, 7>(exponent));
    const Ints upper_half = ints_left<23>(int_bits<1, 8>(ints_add(exponent, splat_int(1))));
    return {multiply(bits_as_floats(ints_add(lower_half, base)), bits_as_floats(ints_add(upper_half, base)))};
  }

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& h, int /*group*/, Block& block) {
    load_nibbles(p + 16, row, block);
    look_up_words(kFloat4Bytes.data(), block);
    block.scale[0] = h.scale;
  }
};

// Each run of 16 columns has two units, and its scale is a float of 4 exponent and 3 mantissa bits.
struct NVFP4 {
  static constexpr int kColumns = 64, kBytes = 36, kGroups = 1, kBlocksPerGroup = 2, kZero = kFloat4Zero;
  static constexpr int kScaleColumns = 16, kMinimumColumns = 0;
  static constexpr Unpacking kUnpacking = Unpacking::medium;
  struct Header {};

  static HWY_INLINE Header header(const std::byte* /*p*/, int /*row*/) { return {}; }

  // The bits are those of an f16 with a bias larger by 8; half of the value is meant, as the table is doubled. The code of NaN counts as 0.
  static HWY_INLINE Floats half_of_e4m3(RowBytes code) {
    const Ints bits = ints_left<7>(to_ints(row_bytes_and(zero_where_equal(code, 0x7f), 0x7f)));
    return multiply(f16_bits_to_floats(bits), splat(128));
  }

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& /*h*/, int /*group*/, Block& block) {
    const Bytes mask = splat_byte(15);
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const int run = 2 * kIndex + half;
#pragma GCC unroll 2
      for (int unit = 0; unit < 2; ++unit) {
        const Bytes bytes = load_bytes(unit_at<4>(p + 64, 2 * run + unit, row));
        block.words[4 * half + unit] = bit_and(bytes, mask);
        block.words[4 * half + unit + 2] = bit_and(shift_right<4>(bytes), mask);
      }
      block.scale[half] = half_of_e4m3(row_byte(p, run, row));
    }
    look_up_words(kFloat4Bytes.data(), block);
  }
};
