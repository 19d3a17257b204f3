// How the quants and scales of each interleaved format are taken out of a tile, for one vector of rows: included into the kernels of each
// instruction set, behind its words_….h. quant/interleave.cpp says how a tile lies in memory.
#pragma once

// The quants of one block of 32 columns as unsigned bytes, four columns a vector, and their scales; [1] is set only in formats with a scale
// per 16 columns. minimum is set likewise in formats with minima.
struct Block {
  Bytes words[8];
  Floats scale[2];
  Floats minimum[2];
};

// Unit `index` of a section whose units have kUnit bytes: a unit stands 16 times, once for each row, and the vector begins with `row`.
template <int kUnit>
HWY_INLINE const std::byte* unit_at(const std::byte* section, int64_t index, int row) {
  return section + (index * 16 + row) * kUnit;
}

// A format: kColumns columns of a row take kBytes bytes; they are kGroups groups of kBlocksPerGroup blocks of 32 columns each.
// header() reads what the block's scales share, load<kIndex>() block kIndex of a group. value = scale · (u - kZero), or with minima
// scale · u - minimum; kScaleColumns columns share a scale, and kMinimumColumns a minimum, 0 where there is none. kSlow: unpacking takes
// long enough that memory should be asked for ahead.
struct Q80 {
  static constexpr int kColumns = 32, kBytes = 34, kGroups = 1, kBlocksPerGroup = 1, kZero = 128;
  static constexpr int kScaleColumns = 32, kMinimumColumns = 0;
  struct Header {
    Floats scale;
  };

  static HWY_INLINE Header header(const std::byte* p, int row) { return {load_f16(unit_at<2>(p, 0, row))}; }

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& h, int /*group*/, Block& block) {
#pragma GCC unroll 8
    for (int w = 0; w < 8; ++w) block.words[w] = load_bytes(unit_at<4>(p + 32, w, row));
    block.scale[0] = h.scale;
  }
};

// Eight words of nibbles in four units: the low halves are words 0 to 3, the high ones 4 to 7.
HWY_INLINE void load_nibbles(const std::byte* units, int row, Block& block) {
  const Bytes mask = splat_byte(15);
#pragma GCC unroll 8
  for (int w = 0; w < 4; ++w) {
    const Bytes bytes = load_bytes(unit_at<4>(units, w, row));
    block.words[w] = bit_and(bytes, mask);
    block.words[w + 4] = bit_and(shift_right<4>(bytes), mask);
  }
}

struct Q40 {
  static constexpr int kColumns = 32, kBytes = 18, kGroups = 1, kBlocksPerGroup = 1, kZero = 8;
  static constexpr int kScaleColumns = 32, kMinimumColumns = 0;
  using Header = Q80::Header;

  static HWY_INLINE Header header(const std::byte* p, int row) { return {load_f16(unit_at<2>(p, 0, row))}; }

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& h, int /*group*/, Block& block) {
    load_nibbles(p + 32, row, block);
    block.scale[0] = h.scale;
  }
};

// d, dmin and the 12 bytes of 6-bit scales and minima of q4_k and q5_k.
struct KHeader {
  Floats d;
  Floats dmin;
  const std::byte* packed;
};

HWY_INLINE KHeader k_header(const std::byte* p, int row) {
  return {load_f16(unit_at<2>(p, 0, row)), load_f16(unit_at<2>(p, 1, row)), p + 64};
}

// Byte `index` of each row in a section of bytes.
HWY_INLINE RowBytes row_byte(const std::byte* section, int index, int row) { return load_row_bytes(unit_at<1>(section, index, row)); }

HWY_INLINE void load_k_scales(const KHeader& h, int row, int run, Block& block) {
  RowBytes scale;
  RowBytes minimum;
  if (run < 4) {
    scale = row_bytes_and(row_byte(h.packed, run, row), 63);
    minimum = row_bytes_and(row_byte(h.packed, run + 4, row), 63);
  } else {
    const RowBytes nibbles = row_byte(h.packed, run + 4, row);
    const RowBytes scale_top = row_bytes_and(row_bytes_right<2>(row_byte(h.packed, run - 4, row)), 0x30);
    const RowBytes minimum_top = row_bytes_and(row_bytes_right<2>(row_byte(h.packed, run, row)), 0x30);
    scale = row_bytes_or(row_bytes_and(nibbles, 15), scale_top);
    minimum = row_bytes_or(row_bytes_and(row_bytes_right<4>(nibbles), 15), minimum_top);
  }
  block.scale[0] = multiply(h.d, unsigned_to_floats(scale));
  block.minimum[0] = multiply(h.dmin, unsigned_to_floats(minimum));
}

struct Q4K {
  static constexpr int kColumns = 256, kBytes = 144, kGroups = 4, kBlocksPerGroup = 2, kZero = 0;
  static constexpr int kScaleColumns = 32, kMinimumColumns = 32;
  using Header = KHeader;

  static HWY_INLINE Header header(const std::byte* p, int row) { return k_header(p, row); }

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& h, int group, Block& block) {
    const Bytes mask = splat_byte(15);
#pragma GCC unroll 8
    for (int w = 0; w < 8; ++w) {
      const Bytes bytes = load_bytes(unit_at<4>(p + 256, group * 8 + w, row));
      block.words[w] = bit_and(kIndex == 0 ? bytes : shift_right<4>(bytes), mask);
    }
    load_k_scales(h, row, 2 * group + kIndex, block);
  }
};

struct Q5K {
  static constexpr int kColumns = 256, kBytes = 176, kGroups = 4, kBlocksPerGroup = 2, kZero = 0;
  static constexpr int kScaleColumns = 32, kMinimumColumns = 32;
  static constexpr bool kSlow = true;
  using Header = KHeader;

  static HWY_INLINE Header header(const std::byte* p, int row) { return k_header(p, row); }

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& h, int group, Block& block) {
    const Bytes mask = splat_byte(15);
    const Bytes high = splat_byte(16);
#pragma GCC unroll 8
    for (int w = 0; w < 8; ++w) {
      const Bytes bytes = load_bytes(unit_at<4>(p + 256 + 512, group * 8 + w, row));
      const Bytes bits = shift_right(load_bytes(unit_at<4>(p + 256, w, row)), 2 * group);
      const Bytes low = bit_and(kIndex == 0 ? bytes : shift_right<4>(bytes), mask);
      block.words[w] = bit_or(low, bit_and(shift_left<4 - kIndex>(bits), high));
    }
    load_k_scales(h, row, 2 * group + kIndex, block);
  }
};

struct Q6K {
  static constexpr int kColumns = 256, kBytes = 210, kGroups = 2, kBlocksPerGroup = 4, kZero = 32;
  static constexpr int kScaleColumns = 16, kMinimumColumns = 0;
  static constexpr bool kSlow = true;
  struct Header {
    Floats d;
  };

  static HWY_INLINE Header header(const std::byte* p, int row) { return {load_f16(unit_at<2>(p, 0, row))}; }

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& h, int group, Block& block) {
    const Bytes mask = splat_byte(15);
    const Bytes high_mask = splat_byte(0x30);
    // Each half of the columns has its high bits and then its low bits, so that memory is read in order.
    const std::byte* high = p + 32 + 256 + group * (8 + 16) * 64;
    const std::byte* low = high + 8 * 64;
#pragma GCC unroll 8
    for (int w = 0; w < 8; ++w) {
      const Bytes bytes = load_bytes(unit_at<4>(low, kIndex % 2 * 8 + w, row));
      const Bytes bits = load_bytes(unit_at<4>(high, w, row));
      const Bytes nibbles = bit_and(kIndex < 2 ? bytes : shift_right<4>(bytes), mask);
      Bytes upper = bits;
      if constexpr (kIndex == 0) upper = shift_left<4>(bits);
      if constexpr (kIndex == 1) upper = shift_left<2>(bits);
      if constexpr (kIndex == 3) upper = shift_right<2>(bits);
      block.words[w] = bit_or(nibbles, bit_and(upper, high_mask));
    }
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const RowBytes factors = row_byte(p + 32, 8 * group + 2 * kIndex + half, row);
      block.scale[half] = multiply(h.d, signed_to_floats(factors));
    }
  }
};
