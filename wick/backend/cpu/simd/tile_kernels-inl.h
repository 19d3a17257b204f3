// The kernels of TileKernels for quantized formats, in the vector operations of one instruction set: included behind its words_….h and
// tile_formats-inl.h.
#pragma once

inline constexpr int kVectorBytes = kVectorRows * 4;
inline constexpr int kVectorsOfTile = 16 / kVectorRows;

// --- few rows of activations: a tile is unpacked in registers as it streams by. ---------------------------------------------------------

// Formats whose unpacking fills the reorder window, or that read a block out of order, need software prefetch: on Zen 4 it took iq3_s from
// 0.29 to 0.63 of the read bandwidth. What suits a machine is learnt there (cpu/prefetch.h); these are the distances until then.
inline constexpr int64_t kSlowPrefetchDistance = 8192;

template <class Format>
inline constexpr int64_t kInitialPrefetchDistance = [] {
  if constexpr (requires { Format::kSlow; }) return kSlowPrefetchDistance;
  return int64_t{0};
}();

// A tile as a kernel for few rows reads it: for the rows from `lane` on.
struct TileStream {
  const std::byte* tile;
  int64_t prefetch_distance;  // bytes; 0: none
  int lane;
};

// A group of a block of it.
struct GroupPlace {
  const std::byte* block;
  int64_t prefetch_distance;
  int lane;
  int group;
};

// Prefetches what lies ahead of one of kParts parts of kBytes bytes.
template <int kBytes, int kParts>
HWY_INLINE void prefetch_ahead(const std::byte* data, int64_t prefetch_distance, int part) {
  if (prefetch_distance == 0) return;
#pragma GCC unroll 64
  for (int at = 0; at < kBytes; at += 64) {
    if (at * kParts / kBytes == part) prefetch_line(data + prefetch_distance + at);
  }
}

// Bytes of a group of blocks of a tile.
template <class Format>
inline constexpr int kGroupBytes = Format::kBytes * 16 / Format::kGroups;

// Integer sums of a block of 32 columns: one for each scale.
template <class Format>
inline constexpr int kPartsOfBlock = Format::kScaleColumns < kActivationBlock ? int{kActivationBlock} / Format::kScaleColumns : 1;

// sum += the product of one block with its columns, number `index`, of one activation row. Meanwhile memory ahead of block kAsk of the
// group is prefetched, unless that is negative.
template <class Format, int kAsk>
HWY_INLINE Floats add_block(const Block& block, const GroupPlace& at_group, const Activations& x, int64_t row, int64_t index, Floats sum) {
  constexpr int kParts = kPartsOfBlock<Format>;
  constexpr int kWords = 8 / kParts;
  const int64_t blocks = x.columns / kActivationBlock;
  const int8_t* quants = x.quants + row * x.columns + index * kActivationBlock;
  const Floats scale = splat(x.scales[row * blocks + index]);
#pragma GCC unroll 2
  for (int part = 0; part < kParts; ++part) {
    const int64_t at = (row * blocks + index) * kParts + part;
    Ints sums = splat_int(x.starts[at]);
#pragma GCC unroll 8
    for (int w = part * kWords; w < (part + 1) * kWords; ++w) {
      if constexpr (kAsk >= 0) {
        prefetch_ahead<kGroupBytes<Format>, 8 * Format::kBlocksPerGroup>(at_group.block + at_group.group * kGroupBytes<Format>,
                                                                         at_group.prefetch_distance, 8 * kAsk + w);
      }
      sums = dot(sums, block.words[w], splat_word(quants + 4 * w));
    }
    sum = multiply_add(to_floats(sums), multiply(block.scale[part], scale), sum);
    if constexpr (Format::kMinimumColumns > 0) sum = multiply_subtract(block.minimum[part], splat(x.sums[at]), sum);
  }
  return sum;
}

// Sums of the rows of activations; kMax, the most rows that a kernel takes, is 1, 2 or kFewRows. Those of the first two stay in registers.
template <int kMax>
struct RowSums {
  Floats first;
  Floats second;
  Floats others[kMax > 2 ? kMax - 2 : 1];
};

// The same for all rows: kMax of them, if that is 1 or 2, else three or more. All but two in a loop: unrolled, kernels of up to eight
// rows and blocks outgrow the cache of decoded instructions, and a program that holds all formats is a megabyte larger.
template <class Format, int kIndex, int kMax>
HWY_INLINE void add_rows(const Block& block, const GroupPlace& at, const Activations& x, int64_t index, RowSums<kMax>& sums) {
  sums.first = add_block<Format, kIndex>(block, at, x, 0, index, sums.first);
  if constexpr (kMax > 1) sums.second = add_block<Format, -1>(block, at, x, 1, index, sums.second);
  if constexpr (kMax > 2) {
#pragma GCC unroll 1
    for (int64_t t = 2; t < x.rows; ++t) sums.others[t - 2] = add_block<Format, -1>(block, at, x, t, index, sums.others[t - 2]);
  }
}

// Block kIndex of a group, then the ones behind it.
template <class Format, int kMax, int kIndex>
HWY_INLINE void add_group(const GroupPlace& at, const typename Format::Header& header, const Activations& x, int64_t first_block,
                          RowSums<kMax>& sums) {
  if constexpr (kIndex < Format::kBlocksPerGroup) {
    Block block;
    Format::template load<kIndex>(at.block, at.lane, header, at.group, block);
    add_rows<Format, kIndex, kMax>(block, at, x, first_block + at.group * Format::kBlocksPerGroup + kIndex, sums);
    add_group<Format, kMax, kIndex + 1>(at, header, x, first_block, sums);
  }
}

template <class Format, int kMax>
void multiply_rows(const TileStream& stream, const Activations& x, float* out, int64_t out_stride) {
  const auto [tile, prefetch_distance, lane] = stream;
  RowSums<kMax> sums;
  sums.first = sums.second = zero();
  for (Floats& sum : sums.others) sum = zero();
  const int64_t blocks = x.columns / Format::kColumns;
  for (int64_t block = 0; block < blocks; ++block) {
    const std::byte* p = tile + block * Format::kBytes * 16;
    const typename Format::Header header = Format::header(p, lane);
    for (int group = 0; group < Format::kGroups; ++group) {
      add_group<Format, kMax, 0>({p, prefetch_distance, lane, group}, header, x, block * (Format::kColumns / kActivationBlock), sums);
    }
  }
  out += lane;
  store(sums.first, out);
  if constexpr (kMax > 1) store(sums.second, out + out_stride);
  if constexpr (kMax > 2) {
    for (int64_t t = 2; t < x.rows; ++t) store(sums.others[t - 2], out + t * out_stride);
  }
}

template <class Format>
void multiply_tile(const std::byte* tile, int64_t prefetch_distance, const Activations& x, float* out, int64_t out_stride) {
  for (int lane = 0; lane < 16; lane += kVectorRows) {
    const TileStream stream{tile, prefetch_distance, lane};
    if (x.rows == 1) {
      multiply_rows<Format, 1>(stream, x, out, out_stride);
    } else if (x.rows == 2) {
      multiply_rows<Format, 2>(stream, x, out, out_stride);
    } else {
      multiply_rows<Format, kFewRows>(stream, x, out, out_stride);
    }
  }
}

// Formats of which a unit holds columns of several blocks of 32, in kPlaces places of its bits, and whose blocks of 256 columns have one
// scale, apart from factors that are integers. Each unit is loaded once, in the order of memory, each place has a sum of its own, and all
// columns of a block are summed up as integers, with one scale of the activations.
template <class Format>
inline constexpr bool kHasPlaces = requires { Format::kPlaces; };

// Bits that the quants of a place stand too far left, as masking them was enough.
template <class Format>
HWY_INLINE constexpr int left_by(int place) {
  if constexpr (requires { Format::kPlaceBits; }) return kDotBias == 0 ? Format::kPlaceBits * place : 0;
  return 0;
}

// The sums of a block of 256 columns: integer sums times their factors, and minima times the sums of the activations.
template <int kTokens>
struct BlockSums {
  Ints totals[kTokens];
  Floats minima[kTokens];
};

// sums += the products of place kPlace, in which `dots` are the sums of a part of a group.
template <class Format, int kTokens, int kPart, int kPlace = 0>
HWY_INLINE void add_places(const GroupPlace& at_group, const typename Format::Header& header, const Activations& x, int64_t first,
                           const Ints (&dots)[kTokens][Format::kPlaces], BlockSums<kTokens>& sums) {
  if constexpr (kPlace < Format::kPlaces) {
    constexpr int kLeftBy = left_by<Format>(kPlace);
    const auto [p, prefetch_distance, lane, group] = at_group;
    Ints factor;
    if constexpr (Format::kScaleColumns < Format::kColumns) factor = Format::template factor<kPlace, kPart>(p, lane, header, group);
    Floats minimum;
    if constexpr (Format::kMinimumColumns > 0) minimum = Format::template minimum<kPlace, kPart>(p, lane, header, group);
#pragma GCC unroll 4
    for (int t = 0; t < kTokens; ++t) {
      Ints sum = dots[t][kPlace];
      if constexpr (kLeftBy > 0) sum = ints_down<kLeftBy>(sum);
      if constexpr (Format::kScaleColumns < Format::kColumns) sum = ints_multiply(sum, factor);
      sums.totals[t] = ints_add(sums.totals[t], sum);
      if constexpr (Format::kMinimumColumns > 0) {
        const int64_t at = (t * x.columns / kActivationBlock + first + kPlace) * kPartsOfBlock<Format> + kPart;
        sums.minima[t] = multiply_add(minimum, splat(x.sums[at]), sums.minima[t]);
      }
    }
    add_places<Format, kTokens, kPart, kPlace + 1>(at_group, header, x, first, dots, sums);
  }
}

// The same for parts kPart and those behind it of a group, whose first block of 32 columns is number `first` of the activations.
template <class Format, int kTokens, int kPart = 0>
HWY_INLINE void add_parts(const GroupPlace& at_group, const typename Format::Header& header, const Activations& x, int64_t first,
                          BlockSums<kTokens>& sums) {
  constexpr int kParts = kPartsOfBlock<Format>;
  if constexpr (kPart < kParts) {
    constexpr int kPlaces = Format::kPlaces;
    constexpr bool kStarts = Format::kScaleColumns < Format::kColumns && kDotBias != Format::kZero;
    const auto [p, prefetch_distance, lane, group] = at_group;
    Ints dots[kTokens][kPlaces];
#pragma GCC unroll 4
    for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 8
      for (int place = 0; place < kPlaces; ++place) {
        const int64_t at = (t * x.columns / kActivationBlock + first + place) * kParts + kPart;
        dots[t][place] = splat_int(kStarts ? x.starts[at] : 0);
      }
    }
#pragma GCC unroll 8
    for (int w = kPart * 8 / kParts; w < (kPart + 1) * 8 / kParts; ++w) {
      Bytes words[kPlaces];
      Format::template load_places<kDotBias != 0>(p, lane, group, w, words);
#pragma GCC unroll 8
      for (int place = 0; place < kPlaces; ++place) {
        prefetch_ahead<kGroupBytes<Format>, 8 * kPlaces>(p + group * kGroupBytes<Format>, prefetch_distance, w * kPlaces + place);
#pragma GCC unroll 4
        for (int t = 0; t < kTokens; ++t) {
          const int8_t* quants = x.quants + t * x.columns + (first + place) * kActivationBlock;
          dots[t][place] = dot(dots[t][place], words[place], splat_word(quants + 4 * w));
        }
      }
    }
    add_places<Format, kTokens, kPart>(at_group, header, x, first, dots, sums);
    add_parts<Format, kTokens, kPart + 1>(at_group, header, x, first, sums);
  }
}

template <class Format, int kTokens>
void multiply_places(const TileStream& stream, const Activations& all, int64_t row, float* out, int64_t out_stride) {
  const auto [tile, prefetch_distance, lane] = stream;
  constexpr bool kOneStart = Format::kScaleColumns == Format::kColumns;
  const int64_t blocks = all.columns / kWideActivationBlock;
  Activations x = all;  // from `row` on
  x.quants += row * x.columns;
  x.scales += row * blocks;
  x.starts += row * (kOneStart ? blocks : x.columns / Format::kScaleColumns);
  if constexpr (Format::kMinimumColumns > 0) x.sums += row * (x.columns / Format::kMinimumColumns);
  Floats sums[kTokens];
#pragma GCC unroll 4
  for (int t = 0; t < kTokens; ++t) sums[t] = zero();
  for (int64_t block = 0; block < blocks; ++block) {
    const std::byte* p = tile + block * Format::kBytes * 16;
    const typename Format::Header header = Format::header(p, lane);
    BlockSums<kTokens> of_block;
#pragma GCC unroll 4
    for (int t = 0; t < kTokens; ++t) {
      of_block.totals[t] = splat_int(kOneStart ? x.starts[t * blocks + block] : 0);
      of_block.minima[t] = zero();
    }
    // Not unrolled: compilers would mix the groups' loads, and prefetchers lose them (q5_k on Zen 4: 0.36 of the bandwidth, not 1.0).
#pragma GCC unroll 1
    for (int group = 0; group < Format::kGroups; ++group) {
      add_parts<Format, kTokens>({p, prefetch_distance, lane, group}, header, x, block * 8 + group * Format::kPlaces, of_block);
    }
#pragma GCC unroll 4
    for (int t = 0; t < kTokens; ++t) {
      sums[t] = multiply_add(to_floats(of_block.totals[t]), multiply(header.scale, splat(x.scales[t * blocks + block])), sums[t]);
      if constexpr (Format::kMinimumColumns > 0) sums[t] = multiply_subtract(of_block.minima[t], header.minimum, sums[t]);
    }
  }
#pragma GCC unroll 4
  for (int t = 0; t < kTokens; ++t) store(sums[t], out + (row + t) * out_stride + lane);
}

template <class Format>
void multiply_tile_places(const std::byte* tile, int64_t prefetch_distance, const Activations& x, float* out, int64_t out_stride) {
  constexpr int kMax = std::min(4, kSums / Format::kPlaces);
  for (int lane = 0; lane < 16; lane += kVectorRows) {
    const TileStream stream{tile, prefetch_distance, lane};
    int64_t row = 0;
    if constexpr (kMax >= 4) {
      for (; row + 4 <= x.rows; row += 4) multiply_places<Format, 4>(stream, x, row, out, out_stride);
    }
    if constexpr (kMax >= 2) {
      for (; row + 2 <= x.rows; row += 2) multiply_places<Format, 2>(stream, x, row, out, out_stride);
    }
    for (; row < x.rows; ++row) multiply_places<Format, 1>(stream, x, row, out, out_stride);
  }
}

// --- many rows: a chunk of a tile is expanded once, and all activations pass over it --------------------------------------------------

// An expanded group: columns that share a scale of the activations, for one vector of rows. Its quants come first, then its scales, one
// vector for each kScaleColumns columns, then its minima, one for each kMinimumColumns columns, if there are any.
template <int kGroupColumns, int kScaleColumns, int kMinimumColumns>
struct ExpandedGroup {
  static constexpr int kColumns = kGroupColumns;
  static constexpr int kScales = kColumns / kScaleColumns;
  static constexpr int kMinima = kMinimumColumns == 0 ? 0 : kColumns / std::max(kMinimumColumns, 1);
  static constexpr int kWords = kColumns / 4;
  static constexpr int64_t kBytes = int64_t{kWords + kScales + kMinima} * kVectorBytes;
  static constexpr ActivationForm form(int32_t start) {
    return {ActivationForm::Kind::int8, kRunTokens, start, kColumns, kScaleColumns, kMinimumColumns};
  }

  static HWY_INLINE std::byte* scale(std::byte* group, int column) { return group + (kWords + column / kScaleColumns) * kVectorBytes; }
  static HWY_INLINE std::byte* minimum(std::byte* group, int column) {
    return group + (kWords + kScales + column / std::max(kMinimumColumns, 1)) * kVectorBytes;
  }
};
template <class Format>
using GroupOf = ExpandedGroup<Format::kColumns == kWideActivationBlock ? kWideActivationBlock : kActivationBlock, Format::kScaleColumns,
                              Format::kMinimumColumns>;

// `column`: of the block's first column in its group.
template <class Format>
HWY_INLINE void store_block(const Block& block, std::byte* group, int column) {
  using Group = GroupOf<Format>;
  constexpr int kScales = kPartsOfBlock<Format>;
  constexpr int kMinima = Group::kMinima == 0 ? 0 : Format::kMinimumColumns < kActivationBlock ? 2 : 1;
#pragma GCC unroll 8
  for (int w = 0; w < 8; ++w) store_bytes(block.words[w], group + (column / 4 + w) * kVectorBytes);
#pragma GCC unroll 2
  for (int part = 0; part < kScales; ++part) {
    store(block.scale[part], reinterpret_cast<float*>(Group::scale(group, column + 16 * part)));
  }
#pragma GCC unroll 2
  for (int part = 0; part < kMinima; ++part) {
    store(block.minimum[part], reinterpret_cast<float*>(Group::minimum(group, column + 16 * part)));
  }
}

// Block kIndex of a group of the format, then the ones behind it, to where the format's block is expanded.
template <class Format, int kIndex>
HWY_INLINE void expand_group(const std::byte* p, int lane, const typename Format::Header& header, int group, std::byte* target) {
  if constexpr (kIndex < Format::kBlocksPerGroup) {
    constexpr int kColumns = GroupOf<Format>::kColumns;
    Block block;
    Format::template load<kIndex>(p, lane, header, group, block);
    const int column = (group * Format::kBlocksPerGroup + kIndex) * int{kActivationBlock};
    store_block<Format>(block, target + column / kColumns * GroupOf<Format>::kBytes, column % kColumns);
    expand_group<Format, kIndex + 1>(p, lane, header, group, target);
  }
}

// The scales of part kPart of a group, from place kPlace on; kPlaces blocks lie side by side in a group.
template <class Format, int kPart, int kPlace = 0>
HWY_INLINE void expand_factors(const std::byte* p, int lane, const typename Format::Header& header, int group, std::byte* target) {
  if constexpr (kPlace < Format::kPlaces) {
    const int column = (group * Format::kPlaces + kPlace) * int{kActivationBlock} + 16 * kPart;
    Floats scale = header.scale;
    if constexpr (Format::kScaleColumns < Format::kColumns)
      scale = multiply(scale, to_floats(Format::template factor<kPlace, kPart>(p, lane, header, group)));
    store(scale, reinterpret_cast<float*>(GroupOf<Format>::scale(target, column)));
    if constexpr (Format::kMinimumColumns > 0) {
      const Floats minimum = multiply(header.minimum, Format::template minimum<kPlace, kPart>(p, lane, header, group));
      store(minimum, reinterpret_cast<float*>(GroupOf<Format>::minimum(target, column)));
    }
    expand_factors<Format, kPart, kPlace + 1>(p, lane, header, group, target);
  }
}

template <class Format>
HWY_INLINE void expand_places(const std::byte* p, int lane, const typename Format::Header& header, int group, std::byte* target) {
#pragma GCC unroll 8
  for (int w = 0; w < 8; ++w) {
    Bytes words[Format::kPlaces];
    Format::template load_places<true>(p, lane, group, w, words);
#pragma GCC unroll 4
    for (int place = 0; place < Format::kPlaces; ++place)
      store_bytes(words[place], target + ((group * Format::kPlaces + place) * 8 + w) * kVectorBytes);
  }
  expand_factors<Format, 0>(p, lane, header, group, target);
  if constexpr (kPartsOfBlock<Format> == 2) expand_factors<Format, 1>(p, lane, header, group, target);
}

template <class Format>
void expand_tile(const std::byte* tile, ColumnChunk chunk, std::byte* expanded) {
  constexpr int64_t kBlockBytes = Format::kColumns / GroupOf<Format>::kColumns * GroupOf<Format>::kBytes;
  for (int lane = 0; lane < 16; lane += kVectorRows) {
    for (int64_t column = chunk.first; column < chunk.first + chunk.count; column += Format::kColumns, expanded += kBlockBytes) {
      const std::byte* p = tile + column / Format::kColumns * Format::kBytes * 16;
      const typename Format::Header header = Format::header(p, lane);
      for (int group = 0; group < Format::kGroups; ++group) {
        if constexpr (kHasPlaces<Format>) {
          expand_places<Format>(p, lane, header, group, expanded);
        } else {
          expand_group<Format, 0>(p, lane, header, group, expanded);
        }
      }
    }
  }
}

// `sum` and what was there before, `vector` vectors and `token` rows behind where `target` begins.
HWY_INLINE void store_sum(Floats sum, const ChunkSums& target, int token, int vector) {
  if (target.earlier != nullptr) sum = add(load(target.earlier + token * target.earlier_stride + vector * kVectorRows), sum);
  store(sum, target.out + token * target.out_stride + vector * kVectorRows);
}

// The sums of kVectors vectors of weight rows and kTokens rows of activations.
template <int kVectors, int kTokens>
struct RunSums {
  Floats values[kTokens][kVectors];

  HWY_INLINE void clear() {
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) values[t][v] = zero();
    }
  }
};

// sums += the products of part `part` of a group, which has one scale, in units of the activations' scale. `groups`: each vector's.
template <class Group, int kVectors, int kTokens>
HWY_INLINE void add_part(const std::byte* const (&groups)[kVectors], int part, const int8_t* quants, const int32_t* starts,
                         RunSums<kVectors, kTokens>& sums) {
  constexpr int kWordsOfScale = Group::kWords / Group::kScales;
  Ints dots[kTokens][kVectors];
#pragma GCC unroll 8
  for (int t = 0; t < kTokens; ++t) {
    const Ints start = splat_int(starts[part * kTokens + t]);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) dots[t][v] = start;
  }
#pragma GCC unroll 8
  for (int w = part * kWordsOfScale; w < (part + 1) * kWordsOfScale; ++w) {
    Bytes words[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) words[v] = load_bytes(groups[v] + w * kVectorBytes);
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) {
      const Ints word = splat_word(quants + 4 * (w * kTokens + t));
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) dots[t][v] = dot(dots[t][v], words[v], word);
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const Floats scale = load(reinterpret_cast<const float*>(groups[v]) + (Group::kWords + part) * kVectorRows);
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) sums.values[t][v] = multiply_add(to_floats(dots[t][v]), scale, sums.values[t][v]);
  }
}

// kVectors vectors of weight rows times the kTokens rows of a panel of activations, of which `row` is the first. `runs`: where each
// vector's groups begin.
template <class Group, int kVectors, int kTokens>
void multiply_runs(const std::byte* const (&runs)[kVectors], ColumnChunk chunk, const Activations& x, int64_t row,
                   const ChunkSums& target) {
  const int64_t first = (row * x.columns + chunk.first * kTokens) / Group::kColumns;  // the panel's group there
  const int8_t* quants = x.quants + first * Group::kColumns;
  const float* scales = x.scales + first;
  const int32_t* starts = x.starts + first * Group::kScales;
  const float* minimum_sums = Group::kMinima > 0 ? x.sums + first * Group::kMinima : nullptr;
  RunSums<kVectors, kTokens> sums;
  sums.clear();
  const int64_t bytes = chunk.count / Group::kColumns * Group::kBytes;
  for (int64_t at = 0; at < bytes; at += Group::kBytes) {
    const std::byte* groups[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) groups[v] = runs[v] + at;
    RunSums<kVectors, kTokens> of_group;
    of_group.clear();
#pragma GCC unroll 2
    for (int part = 0; part < Group::kScales; ++part) add_part<Group>(groups, part, quants, starts, of_group);
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) {
      const Floats scale = splat(scales[t]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums.values[t][v] = multiply_add(of_group.values[t][v], scale, sums.values[t][v]);
    }
#pragma GCC unroll 2
    for (int part = 0; part < Group::kMinima; ++part) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const Floats minimum = load(reinterpret_cast<const float*>(groups[v]) + (Group::kWords + Group::kScales + part) * kVectorRows);
#pragma GCC unroll 8
        for (int t = 0; t < kTokens; ++t)
          sums.values[t][v] = multiply_subtract(minimum, splat(minimum_sums[part * kTokens + t]), sums.values[t][v]);
      }
    }
    quants += Group::kColumns * kTokens;
    scales += kTokens;
    starts += Group::kScales * kTokens;
    if constexpr (Group::kMinima > 0) minimum_sums += Group::kMinima * kTokens;
  }
#pragma GCC unroll 8
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) store_sum(sums.values[t][v], target, t, v);
  }
}

// The fewest rows of a panel of up to `most`, there being more than `few` of them in all.
constexpr int64_t least_panel_rows(int64_t few, int64_t most) {
  int64_t least = most;
  for (int64_t rows = few + 1; rows <= few + most * most; ++rows) least = std::min(least, rows / TokenPanels{rows, most}.count);
  return least;
}
inline constexpr int64_t kMinRunTokens = least_panel_rows(kFewRows, kRunTokens);

template <class Group, int kVectors, int kTokens = kRunTokens>
void multiply_panel(const std::byte* const (&runs)[kVectors], ColumnChunk chunk, const Activations& x, int64_t row, int64_t rows,
                    const ChunkSums& target) {
  if constexpr (kTokens > kMinRunTokens) {
    if (rows < kTokens) return multiply_panel<Group, kVectors, kTokens - 1>(runs, chunk, x, row, rows, target);
  }
  multiply_runs<Group, kVectors, kTokens>(runs, chunk, x, row, target);
}

template <class Group, int kVectors>
void multiply_vectors(const std::byte* const (&runs)[kVectors], ColumnChunk chunk, const Activations& x, const ChunkSums& sums,
                      int64_t lane) {
  const TokenPanels panels{x.rows, kRunTokens};
  for (int64_t panel = 0; panel < panels.count; ++panel) {
    const int64_t row = panels.first(panel);
    multiply_panel<Group>(runs, chunk, x, row, panels.first(panel + 1) - row, sums.from(row, lane));
  }
}

// Where the run of vector `vector`, counted over all tiles, begins.
HWY_INLINE const std::byte* run_start(const ExpandedTiles& tiles, int64_t run, int64_t vector) {
  return tiles.data + vector / kVectorsOfTile * tiles.stride + vector % kVectorsOfTile * run;
}

template <class Group>
void multiply_expanded(const ExpandedTiles& tiles, ColumnChunk chunk, const Activations& x, const ChunkSums& sums) {
  const int64_t run = chunk.count / Group::kColumns * Group::kBytes;
  const int64_t vectors = tiles.count * kVectorsOfTile;
  int64_t vector = 0;
  for (; vector + kRunVectors <= vectors; vector += kRunVectors) {
    const std::byte* runs[kRunVectors];
    for (int v = 0; v < kRunVectors; ++v) runs[v] = run_start(tiles, run, vector + v);
    multiply_vectors<Group, kRunVectors>(runs, chunk, x, sums, vector * kVectorRows);
  }
  if constexpr (kVectorsOfTile % kRunVectors != 0) {
    for (; vector < vectors; ++vector) {
      const std::byte* runs[1] = {run_start(tiles, run, vector)};
      multiply_vectors<Group, 1>(runs, chunk, x, sums, vector * kVectorRows);
    }
  }
}

template <class Format>
inline constexpr Unpacking kUnpackingOf = [] {
  if constexpr (requires { Format::kUnpacking; }) return Format::kUnpacking;
  return Unpacking::heavy;
}();

// Sets the kernels of a format; for many rows of activations it may be taken apart as another, `Many`.
template <class Format, class Many = Format>
void set_kernels(TileKernels& kernels) {
  kernels.few_rows = kFewRows;
  kernels.few_passes = few_passes(kUnpackingOf<Format>);
  kernels.few_form = {ActivationForm::Kind::int8, 1, kDotBias - Format::kZero, kActivationBlock, kActivationBlock / kPartsOfBlock<Format>,
                      Format::kMinimumColumns};
  if constexpr (kHasPlaces<Format>) {
    kernels.few_form.columns = kWideActivationBlock;
    if (Format::kScaleColumns == Format::kColumns) kernels.few_form.sum_columns = kWideActivationBlock;
    kernels.multiply = multiply_tile_places<Format>;
  } else {
    kernels.multiply = multiply_tile<Format>;
  }
  kernels.gemv_prefetch = kernels.skinny_prefetch = kInitialPrefetchDistance<Format>;
  using Group = GroupOf<Many>;
  kernels.many.form = Group::form(kDotBias - Many::kZero);
  if constexpr (!kDotOnly) kernels.many.expand = expand_tile<Many>;
  kernels.many.expanded_bytes = kWideActivationBlock / Group::kColumns * Group::kBytes * kVectorsOfTile;
  kernels.many.multiply = multiply_expanded<Group>;
}
