// How the quants and scales of each interleaved format are taken out of a tile, for one vector of rows: included into the kernels of each
// instruction set, behind its words_….h. weights/interleave.cpp says how a tile lies in memory.
#pragma once

// The quants of one block of 32 columns as unsigned bytes, four columns a vector, and their scales; [1] is set only in formats with a scale
// per 16 columns. minimum is set likewise in formats with minima.
struct Block {
  Bytes words[8];
  Floats scale[2];
  Floats minimum[2];
};

// The quants that stand side by side in bytes, kBits each: masked, and with kDown moved down.
template <bool kDown, int kBits, int kPlace = 0, int kPlaces>
HWY_INLINE void place_words(Bytes bytes, Bytes (&words)[kPlaces]) {
  if constexpr (kPlace < kPlaces) {
    constexpr int kMask = (1 << kBits) - 1;
    if constexpr (kDown) words[kPlace] = bit_and(shift_right<kBits * kPlace>(bytes), splat_byte(kMask));
    if constexpr (!kDown) words[kPlace] = bit_and(bytes, splat_byte(kMask << (kBits * kPlace)));
    place_words<kDown, kBits, kPlace + 1>(bytes, words);
  }
}

// Unit `index` of a section whose units have kUnit bytes: a unit stands 16 times, once for each row, and the vector begins with `row`.
template <int kUnit>
HWY_INLINE const std::byte* unit_at(const std::byte* section, int64_t index, int row) {
  return section + (index * 16 + row) * kUnit;
}

// The header of formats with one f16 scale a block.
struct F16Scale {
  struct Header {
    Floats scale;
  };

  static HWY_INLINE Header header(const std::byte* p, int row) { return {load_f16(unit_at<2>(p, 0, row))}; }
};

// A format: kColumns columns of a row take kBytes bytes; they are kGroups groups of kBlocksPerGroup blocks of 32 columns each.
// header() reads what the block's scales share, load<kIndex>() block kIndex of a group. value = scale · (u - kZero), or with minima
// scale · u - minimum; kScaleColumns columns share a scale, and kMinimumColumns a minimum, 0 where there is none. kSlow: unpacking takes
// long enough that software prefetch pays. kUnpacking: the cost of unpacking, heavy if absent. Formats of kPlaces blocks a
// group have load_places() instead of load(): word w of each block of the group, and factor() and minimum() of a block, or of the halves
// that have their own. With kPlaceBits the quants may stay where they stand in the bytes, that many bits further left from block to block,
// unless kDown is set.
struct Q80 : F16Scale {
  static constexpr int kColumns = 32, kBytes = 34, kGroups = 1, kBlocksPerGroup = 1, kZero = 128;
  static constexpr int kScaleColumns = 32, kMinimumColumns = 0;
  static constexpr Unpacking kUnpacking = Unpacking::none;

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

struct Q40 : F16Scale {
  static constexpr int kColumns = 32, kBytes = 18, kGroups = 1, kBlocksPerGroup = 1, kZero = 8;
  static constexpr int kScaleColumns = 32, kMinimumColumns = 0;
  static constexpr Unpacking kUnpacking = Unpacking::none;

  template <int kIndex>
  static HWY_INLINE void load(const std::byte* p, int row, const Header& h, int /*group*/, Block& block) {
    load_nibbles(p + 32, row, block);
    block.scale[0] = h.scale;
  }
};

// Byte `index` of each row in a section of bytes.
HWY_INLINE RowBytes row_byte(const std::byte* section, int index, int row) { return load_row_bytes(unit_at<1>(section, index, row)); }

// d and dmin of q4_k and q5_k, and the 6-bit factors of their blocks: lane by lane those of blocks 0 to 3, then of 4 to 7.
struct KHeader {
  Floats scale;
  Floats minimum;
  Bytes factors[2];
  Bytes minima[2];
};

struct KFormat {
  using Header = KHeader;
  static constexpr int kPlaces = 2;

  static HWY_INLINE Header header(const std::byte* p, int row) {
    const Bytes six = splat_byte(63);
    const Bytes four = splat_byte(15);
    const Bytes top = splat_byte(0x30);
    const Bytes factors = load_bytes(unit_at<4>(p + 64, 0, row));
    const Bytes minima = load_bytes(unit_at<4>(p + 64, 1, row));
    const Bytes nibbles = load_bytes(unit_at<4>(p + 64, 2, row));
    return {load_f16(unit_at<2>(p, 0, row)),
            load_f16(unit_at<2>(p, 1, row)),
            {bit_and(factors, six), bit_or(bit_and(nibbles, four), bit_and(shift_right<2>(factors), top))},
            {bit_and(minima, six), bit_or(bit_and(shift_right<4>(nibbles), four), bit_and(shift_right<2>(minima), top))}};
  }

  template <int kPlace, int kPart>
  static HWY_INLINE Ints factor(const std::byte* /*p*/, int /*row*/, const Header& h, int group) {
    return byte_of(h.factors[group / 2], 2 * (group % 2) + kPlace);
  }
  template <int kPlace, int kPart>
  static HWY_INLINE Floats minimum(const std::byte* /*p*/, int /*row*/, const Header& h, int group) {
    return to_floats(byte_of(h.minima[group / 2], 2 * (group % 2) + kPlace));
  }

  static HWY_INLINE Ints byte_of(Bytes lanes, int index) { return ints_and(ints_right(as_ints(lanes), 8 * index), splat_int(255)); }
};

struct Q4K : KFormat {
  static constexpr int kColumns = 256, kBytes = 144, kGroups = 4, kZero = 0;
  static constexpr int kScaleColumns = 32, kMinimumColumns = 32;
  static constexpr Unpacking kUnpacking = Unpacking::light;
  static constexpr int kPlaceBits = 4;

  template <bool kDown>
  static HWY_INLINE void load_places(const std::byte* p, int row, int group, int w, Bytes (&words)[kPlaces]) {
    place_words<kDown, kPlaceBits>(load_bytes(unit_at<4>(p + 256, group * 8 + w, row)), words);
  }
};

struct Q5K : KFormat {
  static constexpr int kColumns = 256, kBytes = 176, kGroups = 4, kZero = 0;
  static constexpr int kScaleColumns = 32, kMinimumColumns = 32;

  template <bool kDown>
  static HWY_INLINE void load_places(const std::byte* p, int row, int group, int w, Bytes (&words)[kPlaces]) {
    const Bytes bytes = load_bytes(unit_at<4>(p + 256 + 512, group * 8 + w, row));
    const Bytes bits = shift_right(load_bytes(unit_at<4>(p + 256, w, row)), 2 * group);
    const Bytes mask = splat_byte(15);
    const Bytes high = splat_byte(16);
    words[0] = bit_or(bit_and(bytes, mask), bit_and(shift_left<4>(bits), high));
    words[1] = bit_or(bit_and(shift_right<4>(bytes), mask), bit_and(shift_left<3>(bits), high));
  }
};

struct Q6K : F16Scale {
  static constexpr int kColumns = 256, kBytes = 210, kGroups = 2, kZero = 32;
  static constexpr int kScaleColumns = 16, kMinimumColumns = 0;
  static constexpr Unpacking kUnpacking = Unpacking::light;
  static constexpr int kPlaces = 4;

  template <int kPlace, int kPart>
  static HWY_INLINE Ints factor(const std::byte* p, int row, const Header& /*h*/, int group) {
    return signed_to_ints(row_byte(p + 32, 8 * group + 2 * kPlace + kPart, row));
  }

  template <bool kDown>
  static HWY_INLINE void load_places(const std::byte* p, int row, int group, int w, Bytes (&words)[kPlaces]) {
    const std::byte* units = p + 32 + 256 + group * (8 + 16) * 64;
    const Bytes bits = load_bytes(unit_at<4>(units, 3 * w, row));
    const Bytes first = load_bytes(unit_at<4>(units, 3 * w + 1, row));
    const Bytes second = load_bytes(unit_at<4>(units, 3 * w + 2, row));
    const Bytes mask = splat_byte(15);
    const Bytes high = splat_byte(0x30);
    words[0] = bit_or(bit_and(first, mask), bit_and(shift_left<4>(bits), high));
    words[1] = bit_or(bit_and(second, mask), bit_and(shift_left<2>(bits), high));
    words[2] = bit_or(bit_and(shift_right<4>(first), mask), bit_and(bits, high));
    words[3] = bit_or(bit_and(shift_right<4>(second), mask), bit_and(shift_right<2>(bits), high));
  }
};
