// Formats whose elements are points of a codebook: iq1_s … iq3_s. Included behind tile_formats-inl.h.
#pragma once

// Four points a lane. In `first` and `second` byte k of a lane holds the halves of the digits of point k.
struct Points {
  Bytes first;
  Bytes second;
};

// The points whose numbers have the bytes of `low` as their low eight bits and those of `high` above.
template <int kHighBits>
HWY_INLINE Points look_up_points(const CodebookPlanes<(256 << kHighBits)>& planes, Bytes low, Bytes high) {
  Points points;
  look_up_planes<kHighBits>(planes.first.data(), planes.second.data(), low, high, points.first, points.second);
  return points;
}

// Units first, first + step … of a section.
template <int kVectors>
HWY_INLINE void load_units(const std::byte* section, int first, int step, int row, Bytes (&units)[kVectors]) {
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) units[v] = load_bytes(unit_at<4>(section, first + v * step, row));
}

// Field kVector % kFields of unit kVector / kFields of a section, kWidth bits a byte: see spread().
template <int kFields, int kFieldBits, int kStep, int kWidth, int kVectors, int kVector = 0>
HWY_INLINE void spread_units(const std::byte* section, int row, Bytes (&fields)[kVectors]) {
  if constexpr (kVector < kVectors) {
    const Bytes unit = load_bytes(unit_at<4>(section, kVector / kFields, row));
    fields[kVector] = spread<kVector % kFields * kFieldBits, kStep, kWidth, 0>(unit);
    spread_units<kFields, kFieldBits, kStep, kWidth, kVectors, kVector + 1>(section, row, fields);
  }
}

// Points of eight digits of two bits, of which kByte-th of each lane is number kPoint of the block, as magnitudes with the signs in the
// same bytes of `signs`.
template <int kByte, int kPoint>
HWY_INLINE void place_signed_eight(const Points& points, Bytes signs, LooseTable values, Block& block) {
  constexpr int kBit = 8 * kByte;
  const Bytes sign = splat_byte(4);
  const Bytes first = select_bits(sign, spread_loose<kBit, 1, 1, 2>(signs), spread_loose<kBit, 2, 2, 0>(points.first));
  const Bytes second = select_bits(sign, spread_loose<kBit + 4, 1, 1, 2>(signs), spread_loose<kBit, 2, 2, 0>(points.second));
  block.words[2 * kPoint] = look_up_loose<3>(values, first);
  block.words[2 * kPoint + 1] = look_up_loose<3>(values, second);
}

// The scales of iq2_xs and iq2_s: four bits s for 16 columns mean (s + 1/2) / 4.
HWY_INLINE void load_quarter_scales(const std::byte* packed, int run, int row, Floats d, Block& block) {
  const RowBytes bits = row_byte(packed, run, row);
  const Floats quarter = multiply(d, splat(0.25F));
  const Floats eighth = multiply(d, splat(0.125F));
  block.scale[0] = multiply_add(unsigned_to_floats(row_bytes_and(bits, 15)), quarter, eighth);
  block.scale[1] = multiply_add(unsigned_to_floats(row_bytes_and(row_bytes_right<4>(bits), 15)), quarter, eighth);
}

struct IQ2XXS : F16Scale {
  static constexpr int kColumns = 256, kBytes = 66, kGroups = 8, kBlocksPerGroup = 1, kZero = kZeroIQ2;
  static constexpr int kScaleColumns = 32, kMinimumColumns = 0;
  static constexpr bool kSlow = true;

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& h, int group, Block& block) {
    const Points points = look_up_points<0>(kPlanesIQ2XXS, load_bytes(unit_at<4>(p + 32, 2 * group, row)), splat_byte(0));
    const Bytes word = load_bytes(unit_at<4>(p + 32, 2 * group + 1, row));
    const Bytes signs = complete_signs<0>(spread<0, 7, 7, 0>(word));
    const LooseTable values = load_loose_table(kSignedIQ2);
    place_signed_eight<0, 0>(points, signs, values, block);
    place_signed_eight<1, 1>(points, signs, values, block);
    place_signed_eight<2, 2>(points, signs, values, block);
    place_signed_eight<3, 3>(points, signs, values, block);
    const Floats scale = to_floats(int_bits<28, 4>(as_ints(word)));
    block.scale[0] = multiply(h.scale, multiply_add(scale, splat(0.25F), splat(0.125F)));
  }
};

// A 16-bit word holds nine bits of a point and seven of signs.
struct IQ2XS : F16Scale {
  static constexpr int kColumns = 256, kBytes = 74, kGroups = 8, kBlocksPerGroup = 1, kZero = kZeroIQ2;
  static constexpr int kScaleColumns = 16, kMinimumColumns = 0;
  static constexpr bool kSlow = true;

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& h, int group, Block& block) {
    const std::byte* units = p + 32 + 8 * 16;
    const Bytes points01 = load_bytes(unit_at<4>(units, 2 * group, row));
    const Bytes points23 = load_bytes(unit_at<4>(units, 2 * group + 1, row));
    // Bytes of points 0, 2, 1, 3.
    const Bytes upper = odd_bytes(points01, points23);
    const Points points = look_up_points<1>(kPlanesIQ2XS, even_bytes(points01, points23), bit_and(upper, splat_byte(1)));
    const Bytes signs = complete_signs<1>(upper);
    const LooseTable values = load_loose_table(kSignedIQ2);
    place_signed_eight<0, 0>(points, signs, values, block);
    place_signed_eight<2, 1>(points, signs, values, block);
    place_signed_eight<1, 2>(points, signs, values, block);
    place_signed_eight<3, 3>(points, signs, values, block);
    load_quarter_scales(p + 32, group, row, h.scale, block);
  }
};

struct IQ2S : F16Scale {
  static constexpr int kColumns = 256, kBytes = 82, kGroups = 2, kBlocksPerGroup = 4, kZero = kZeroIQ2;
  static constexpr int kScaleColumns = 16, kMinimumColumns = 0;
  static constexpr bool kSlow = true;

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& h, int group, Block& block) {
    const std::byte* high = p + 32 + 8 * 16;
    const std::byte* low = high + 2 * 64;
    const int run = 4 * group + kIndex;
    const Bytes high_bits = spread<8 * kIndex, 2, 2, 0>(load_bytes(unit_at<4>(high, group, row)));
    const Points points = look_up_points<2>(kPlanesIQ2S, load_bytes(unit_at<4>(low, run, row)), high_bits);
    const Bytes signs = load_bytes(unit_at<4>(low, 8 + run, row));
    const LooseTable values = load_loose_table(kSignedIQ2);
    place_signed_eight<0, 0>(points, signs, values, block);
    place_signed_eight<1, 1>(points, signs, values, block);
    place_signed_eight<2, 2>(points, signs, values, block);
    place_signed_eight<3, 3>(points, signs, values, block);
    load_quarter_scales(p + 32, run, row, h.scale, block);
  }
};

// Four points of four digits of three bits: words kWord to kWord + 3 of the block. Bit c of `signs` is the sign of column c.
template <int kWord>
HWY_INLINE void place_signed_fours(const Points& points, Bytes signs, LooseTable values, Block& block) {
  const Bytes sign = splat_byte(8);
  const Bytes points02 = even_bytes(points.first, points.second);
  const Bytes points13 = odd_bytes(points.first, points.second);
  const Bytes code0 = select_bits(sign, spread_loose<4 * kWord, 1, 1, 3>(signs), spread_loose<0, 4, 3, 0>(points02));
  const Bytes code1 = select_bits(sign, spread_loose<4 * kWord + 4, 1, 1, 3>(signs), spread_loose<0, 4, 3, 0>(points13));
  const Bytes code2 = select_bits(sign, spread_loose<4 * kWord + 8, 1, 1, 3>(signs), spread_loose<16, 4, 3, 0>(points02));
  const Bytes code3 = select_bits(sign, spread_loose<4 * kWord + 12, 1, 1, 3>(signs), spread_loose<16, 4, 3, 0>(points13));
  block.words[kWord] = look_up_loose<4>(values, code0);
  block.words[kWord + 1] = look_up_loose<4>(values, code1);
  block.words[kWord + 2] = look_up_loose<4>(values, code2);
  block.words[kWord + 3] = look_up_loose<4>(values, code3);
}

struct IQ3XXS : F16Scale {
  static constexpr int kColumns = 256, kBytes = 98, kGroups = 8, kBlocksPerGroup = 1, kZero = kZeroIQ3XXS;
  static constexpr int kScaleColumns = 32, kMinimumColumns = 0;
  static constexpr bool kSlow = true;

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& h, int group, Block& block) {
    const std::byte* units = p + 32;
    const Bytes word = load_bytes(unit_at<4>(units + 16 * 64, group, row));
    const Bytes signs = complete_signs<0>(spread<0, 7, 7, 0>(word));
    const LooseTable values = load_loose_table(kSignedIQ3XXS);
    const Bytes none = splat_byte(0);
    place_signed_fours<0>(look_up_points<0>(kPlanesIQ3XXS, load_bytes(unit_at<4>(units, 2 * group, row)), none), signs, values, block);
    place_signed_fours<4>(look_up_points<0>(kPlanesIQ3XXS, load_bytes(unit_at<4>(units, 2 * group + 1, row)), none), signs, values, block);
    const Floats scale = to_floats(int_bits<28, 4>(as_ints(word)));
    block.scale[0] = multiply(h.scale, multiply_add(scale, splat(0.5F), splat(0.25F)));
  }
};

struct IQ3S : F16Scale {
  static constexpr int kColumns = 256, kBytes = 110, kGroups = 2, kBlocksPerGroup = 4, kZero = kZeroIQ3S;
  static constexpr int kScaleColumns = 32, kMinimumColumns = 0;
  static constexpr bool kSlow = true;

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& h, int group, Block& block) {
    const std::byte* high = p + 32 + 4 * 16;
    const std::byte* low = high + 2 * 64;
    const int run = 4 * group + kIndex;
    const Bytes top = load_bytes(unit_at<4>(high, group, row));
    const Bytes signs = load_bytes(unit_at<4>(low + 16 * 64, run, row));
    const LooseTable values = load_loose_table(kSignedIQ3S);
    const Bytes top0 = spread<8 * kIndex, 1, 1, 0>(top);
    const Bytes top1 = spread<8 * kIndex + 4, 1, 1, 0>(top);
    place_signed_fours<0>(look_up_points<1>(kPlanesIQ3S, load_bytes(unit_at<4>(low, 2 * run, row)), top0), signs, values, block);
    place_signed_fours<4>(look_up_points<1>(kPlanesIQ3S, load_bytes(unit_at<4>(low, 2 * run + 1, row)), top1), signs, values, block);
    const Ints scale = int_bits<4 * (kIndex % 2), 4>(to_ints(row_byte(p + 32, 2 * group + kIndex / 2, row)));
    block.scale[0] = multiply(h.scale, multiply_add(to_floats(scale), splat(2), splat(1)));
  }
};

// iq1: value = scale · (digit - 1 ± 1/8) = scale / 8 · (8 · digit + 1 ± 1 - 9). `raised` has 2 in the bytes of columns with a plus.
template <int kPoint>
HWY_INLINE void place_shifted_eight(const Points& points, Bytes raised, Block& block) {
  block.words[2 * kPoint] = bit_or(spread<8 * kPoint, 2, 2, 3>(points.first), raised);
  block.words[2 * kPoint + 1] = bit_or(spread<8 * kPoint, 2, 2, 3>(points.second), raised);
}

// The codebook of iq1 is so long that all points of a block of 256 columns are looked up together.
struct IQ1Header {
  Floats scale;
  Bytes first[8];
  Bytes second[8];

  [[nodiscard]] HWY_INLINE Points points(int run) const { return {first[run], second[run]}; }
};

struct IQ1S {
  static constexpr int kColumns = 256, kBytes = 50, kGroups = 4, kBlocksPerGroup = 2, kZero = 9;
  static constexpr int kScaleColumns = 32, kMinimumColumns = 0;
  static constexpr bool kSlow = true;
  using Header = IQ1Header;

  static HWY_INLINE Header header(const std::byte* p, int row) {
    Header h;
    h.scale = load_f16(unit_at<2>(p, 0, row));
    Bytes low[8];
    Bytes high[8];
    spread_units<2, 16, 3, 3>(p + 32, row, high);
    load_units(p + 32 + 4 * 64, 0, 1, row, low);
    look_up_many<3>(kPlanesIQ1.first.data(), kPlanesIQ1.second.data(), low, high, h.first, h.second);
    return h;
  }

  // The 3-bit scale of block kIndex of a group.
  template <int kIndex>
  static HWY_INLINE Ints scale_bits(const std::byte* p, int row, int group) {
    return int_bits<16 * kIndex + 12, 3>(as_ints(load_bytes(unit_at<4>(p + 32, group, row))));
  }

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& h, int group, Block& block) {
    constexpr int kHalf = 16 * kIndex;
    const Bytes high = load_bytes(unit_at<4>(p + 32, group, row));
    const Bytes raised = bit_xor(spread<kHalf + 15, 0, 1, 1>(high), splat_byte(2));
    const Points points = h.points(2 * group + kIndex);
    place_shifted_eight<0>(points, raised, block);
    place_shifted_eight<1>(points, raised, block);
    place_shifted_eight<2>(points, raised, block);
    place_shifted_eight<3>(points, raised, block);
    const Floats scale = to_floats(scale_bits<kIndex>(p, row, group));
    block.scale[0] = multiply(h.scale, multiply_add(scale, splat(0.25F), splat(0.125F)));
  }
};

struct IQ1M {
  static constexpr int kColumns = 256, kBytes = 56, kGroups = 4, kBlocksPerGroup = 2, kZero = 9;
  static constexpr int kScaleColumns = 16, kMinimumColumns = 0;
  static constexpr bool kSlow = true;
  using Header = IQ1Header;

  // The scale is spread over the top four bits of the four words of scales.
  static HWY_INLINE Floats load_scale(const std::byte* p, int row) {
    const Ints bits0 = int_bits<12, 4>(load_row_shorts(unit_at<2>(p, 0, row)));
    const Ints bits1 = int_bits<12, 4>(load_row_shorts(unit_at<2>(p, 1, row)));
    const Ints bits2 = int_bits<12, 4>(load_row_shorts(unit_at<2>(p, 2, row)));
    const Ints bits3 = int_bits<12, 4>(load_row_shorts(unit_at<2>(p, 3, row)));
    const Ints low = ints_add(bits0, ints_left<4>(bits1));
    const Ints high = ints_add(ints_left<8>(bits2), ints_left<12>(bits3));
    return f16_bits_to_floats(ints_add(low, high));
  }

  static HWY_INLINE Header header(const std::byte* p, int row) {
    Header h;
    h.scale = load_scale(p, row);
    Bytes low[8];
    Bytes high[8];
    spread_units<2, 16, 4, 3>(p + 4 * 32, row, high);
    load_units(p + 4 * 32 + 4 * 64, 0, 1, row, low);
    look_up_many<3>(kPlanesIQ1.first.data(), kPlanesIQ1.second.data(), low, high, h.first, h.second);
    return h;
  }

  // The 3-bit scale of run kRun of 16 columns of a group.
  template <int kRun>
  static HWY_INLINE Ints scale_bits(const std::byte* p, int row, int group) {
    return int_bits<3 * kRun, 3>(load_row_shorts(unit_at<2>(p, group, row)));
  }

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& h, int group, Block& block) {
    constexpr int kHalf = 16 * kIndex;
    const Bytes high = load_bytes(unit_at<4>(p + 4 * 32, group, row));
    const Bytes raised = splat_byte(2);
    const Points points = h.points(2 * group + kIndex);
    place_shifted_eight<0>(points, bit_xor(spread<kHalf + 3, 0, 1, 1>(high), raised), block);
    place_shifted_eight<1>(points, bit_xor(spread<kHalf + 7, 0, 1, 1>(high), raised), block);
    place_shifted_eight<2>(points, bit_xor(spread<kHalf + 11, 0, 1, 1>(high), raised), block);
    place_shifted_eight<3>(points, bit_xor(spread<kHalf + 15, 0, 1, 1>(high), raised), block);
    const Floats quarter = splat(0.25F);
    const Floats eighth = splat(0.125F);
    block.scale[0] = multiply(h.scale, multiply_add(to_floats(scale_bits<2 * kIndex>(p, row, group)), quarter, eighth));
    block.scale[1] = multiply(h.scale, multiply_add(to_floats(scale_bits<2 * kIndex + 1>(p, row, group)), quarter, eighth));
  }
};

// iq1_s or iq1_m with the scales multiplied into the quants. With a 3-bit scale s and a quant u, which is even,
//   value = d / 8 · (2 s + 1) · (u - 9) = d / 8 · (2 b - 135)     for the byte b = (2 s + 1) · u / 2 + 9 · (7 - s), at most 135.
template <class Format>
struct ScaledIQ1 {
  static constexpr int kColumns = 256, kBytes = Format::kBytes, kGroups = 4, kBlocksPerGroup = 2, kZero = 0;
  static constexpr int kScaleColumns = 256, kMinimumColumns = 256;
  using Header = IQ1Header;

  static HWY_INLINE Header header(const std::byte* p, int row) { return Format::header(p, row); }

  template <int kCount>
  static HWY_INLINE void scale_words(Ints scale, Bytes* words) {
    const Bytes factor = splat_rows(ints_add(ints_add(scale, scale), splat_int(1)));
    const Bytes base = bytes_subtract(splat_byte(63), multiply_bytes(splat_byte(9), splat_rows(scale)));
#pragma GCC unroll 8
    for (int w = 0; w < kCount; ++w) words[w] = bytes_add(multiply_bytes(shift_right<1>(words[w]), factor), base);
  }

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& h, int group, Block& block) {
    Format::template load<kIndex>(p, row, h, group, block);
    if constexpr (Format::kScaleColumns == 32) {
      scale_words<8>(Format::template scale_bits<kIndex>(p, row, group), block.words);
    } else {
      scale_words<4>(Format::template scale_bits<2 * kIndex>(p, row, group), block.words);
      scale_words<4>(Format::template scale_bits<2 * kIndex + 1>(p, row, group), block.words + 4);
    }
    block.scale[0] = multiply(h.scale, splat(0.25F));
    block.minimum[0] = multiply(h.scale, splat(135.0F / 8));
  }
};
