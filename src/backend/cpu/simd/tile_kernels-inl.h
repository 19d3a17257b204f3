// The kernels of TileKernels for quantized formats, in the vector operations of one instruction set: included behind its words_….h and
// tile_formats-inl.h.
#pragma once

inline constexpr int kVectorBytes = kVectorRows * 4;
inline constexpr int kVectorsOfTile = 16 / kVectorRows;

// --- few rows of activations: a tile is unpacked in registers as it streams by. ---------------------------------------------------------

// Where unpacking leaves the processor too little room to run ahead to later loads, or reads a block out of order, memory is asked for this
// far ahead, into the second-level cache: on Zen 4 that took iq3_s from 0.29 to 0.63 of the read bandwidth, q6_k from 0.7 to 0.93. Quick
// formats are best left to the processor's own prefetchers, which lose the stream when they are helped (down to 0.7).
inline constexpr int64_t kBytesAhead = 8192;
template <class Format>
inline constexpr bool kAsksAhead = requires { Format::kSlow; };

template <class Format>
HWY_INLINE void ask_ahead(const std::byte* group) {
  if constexpr (kAsksAhead<Format>) {
#pragma GCC unroll 32
    for (int at = 0; at < Format::kBytes * 16 / Format::kGroups; at += 64) __builtin_prefetch(group + kBytesAhead + at, 0, 2);
  }
}

// sum += the product of one block with its columns, number `index`, of one activation row.
template <class Format>
HWY_INLINE Floats add_block(const Block& block, const Activations& x, int64_t row, int64_t index, Floats sum) {
  constexpr int kParts = Format::kHalves ? 2 : 1;
  constexpr int kWords = 8 / kParts;
  const int8_t* quants = x.quants + row * x.columns + index * kActivationBlock;
  const Floats scale = splat(x.scales[row * (x.columns / kActivationBlock) + index]);
#pragma GCC unroll 2
  for (int part = 0; part < kParts; ++part) {
    const int64_t at = row * x.parts + index * kParts + part;
    Ints sums = splat_int(x.starts[at]);
#pragma GCC unroll 8
    for (int w = part * kWords; w < (part + 1) * kWords; ++w) sums = dot(sums, block.words[w], splat_word(quants + 4 * w));
    sum = multiply_add(to_floats(sums), multiply(block.scale[part], scale), sum);
    if constexpr (Format::kMinimum) sum = multiply_subtract(block.minimum[part], splat(x.sums[at]), sum);
  }
  return sum;
}

// The same for rows row + kToken … row + kTokens - 1; a recursion instead of a loop keeps the sums in registers.
template <class Format, int kTokens, int kToken = 0>
HWY_INLINE void add_tokens(const Block& block, const Activations& x, int64_t row, int64_t index, Floats (&sums)[kTokens]) {
  if constexpr (kToken < kTokens) {
    sums[kToken] = add_block<Format>(block, x, row + kToken, index, sums[kToken]);
    add_tokens<Format, kTokens, kToken + 1>(block, x, row, index, sums);
  }
}

// Block kIndex of a group, then the ones behind it, for kTokens rows of activations from `row` on.
template <class Format, int kTokens, int kIndex>
HWY_INLINE void add_group(const std::byte* p, int lane, const typename Format::Header& header, int group, const Activations& x, int64_t row,
                          int64_t first_block, Floats (&sums)[kTokens]) {
  if constexpr (kIndex < Format::kBlocksPerGroup) {
    Block block;
    Format::template load<kIndex>(p, lane, header, group, block);
    add_tokens<Format, kTokens>(block, x, row, first_block + group * Format::kBlocksPerGroup + kIndex, sums);
    add_group<Format, kTokens, kIndex + 1>(p, lane, header, group, x, row, first_block, sums);
  }
}

template <class Format, int kTokens>
void multiply_rows(const std::byte* tile, int lane, const Activations& x, int64_t row, float* out, int64_t out_stride) {
  Floats sums[kTokens];
  for (int t = 0; t < kTokens; ++t) sums[t] = zero();
  const int64_t blocks = x.columns / Format::kColumns;
  for (int64_t block = 0; block < blocks; ++block) {
    const std::byte* p = tile + block * Format::kBytes * 16;
    const typename Format::Header header = Format::header(p, lane);
    for (int group = 0; group < Format::kGroups; ++group) {
      ask_ahead<Format>(p + group * (Format::kBytes * 16 / Format::kGroups));
      add_group<Format, kTokens, 0>(p, lane, header, group, x, row, block * (Format::kColumns / kActivationBlock), sums);
    }
  }
  for (int t = 0; t < kTokens; ++t) store(sums[t], out + (row + t) * out_stride + lane);
}

template <class Format>
void multiply_tile(const std::byte* tile, const Activations& x, float* out, int64_t out_stride) {
  for (int lane = 0; lane < 16; lane += kVectorRows) {
    int64_t row = 0;
    for (; row + 8 <= x.rows; row += 8) multiply_rows<Format, 8>(tile, lane, x, row, out, out_stride);
    for (; row + 4 <= x.rows; row += 4) multiply_rows<Format, 4>(tile, lane, x, row, out, out_stride);
    for (; row + 2 <= x.rows; row += 2) multiply_rows<Format, 2>(tile, lane, x, row, out, out_stride);
    for (; row < x.rows; ++row) multiply_rows<Format, 1>(tile, lane, x, row, out, out_stride);
  }
}

// --- many rows: a chunk of a tile is expanded once, and all activations pass over it --------------------------------------------------

// Vectors of an expanded block: quants, scales, minima.
template <bool kHalves, bool kMinimum>
inline constexpr int kExpandedVectors = 8 + (kHalves ? 2 : 1) * (kMinimum ? 2 : 1);

template <class Format>
HWY_INLINE void store_block(const Block& block, std::byte* target) {
  constexpr int kParts = Format::kHalves ? 2 : 1;
#pragma GCC unroll 8
  for (int w = 0; w < 8; ++w) store_bytes(block.words[w], target + w * kVectorBytes);
  auto* floats = reinterpret_cast<float*>(target + 8 * kVectorBytes);
#pragma GCC unroll 2
  for (int part = 0; part < kParts; ++part) {
    store(block.scale[part], floats + part * kVectorRows);
    if constexpr (Format::kMinimum) store(block.minimum[part], floats + (kParts + part) * kVectorRows);
  }
}

template <class Format, int kIndex>
HWY_INLINE void expand_group(const std::byte* p, int lane, const typename Format::Header& header, int group, std::byte* target) {
  if constexpr (kIndex < Format::kBlocksPerGroup) {
    Block block;
    Format::template load<kIndex>(p, lane, header, group, block);
    store_block<Format>(block, target);
    expand_group<Format, kIndex + 1>(p, lane, header, group, target + kExpandedVectors<Format::kHalves, Format::kMinimum> * kVectorBytes);
  }
}

template <class Format>
void expand_tile(const std::byte* tile, ColumnChunk chunk, std::byte* expanded) {
  constexpr int64_t kGroupBytes = Format::kBlocksPerGroup * kExpandedVectors<Format::kHalves, Format::kMinimum> * kVectorBytes;
  for (int lane = 0; lane < 16; lane += kVectorRows) {
    for (int64_t column = chunk.first; column < chunk.first + chunk.count; column += Format::kColumns) {
      const std::byte* p = tile + column / Format::kColumns * Format::kBytes * 16;
      const typename Format::Header header = Format::header(p, lane);
      for (int group = 0; group < Format::kGroups; ++group, expanded += kGroupBytes) {
        expand_group<Format, 0>(p, lane, header, group, expanded);
      }
    }
  }
}

// kVectors vectors of weight rows times kTokens rows of activations. `runs`: where each vector's blocks begin.
template <bool kHalves, bool kMinimum, int kVectors, int kTokens>
void multiply_runs(const std::byte* const (&runs)[kVectors], ColumnChunk chunk, const Activations& x, int64_t row, bool accumulate,
                   float* const (&out)[kVectors], int64_t out_stride) {
  constexpr int kParts = kHalves ? 2 : 1;
  constexpr int kWords = 8 / kParts;
  constexpr int64_t kBlockBytes = kExpandedVectors<kHalves, kMinimum> * kVectorBytes;
  const int64_t first = chunk.first / kActivationBlock;
  const int64_t scale_stride = x.columns / kActivationBlock;
  const int8_t* quants = x.quants + row * x.columns + chunk.first;
  const float* scales = x.scales + row * scale_stride + first;
  const int32_t* starts = x.starts + row * x.parts + first * kParts;
  const float* minimum_sums = kMinimum ? x.sums + row * x.parts + first * kParts : nullptr;
  Floats sums[kTokens][kVectors];
#pragma GCC unroll 8
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[t][v] = zero();
  }
  const int64_t bytes = chunk.count / kActivationBlock * kBlockBytes;
  for (int64_t at = 0; at < bytes; at += kBlockBytes) {
    // Of formats with a scale per 16 columns: what the first half gives, in units of the activations' scale.
    [[maybe_unused]] Floats halves[kTokens][kVectors];
#pragma GCC unroll 2
    for (int part = 0; part < kParts; ++part) {
      Ints dots[kTokens][kVectors];
#pragma GCC unroll 8
      for (int t = 0; t < kTokens; ++t) {
        const Ints start = splat_int(starts[t * x.parts + part]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) dots[t][v] = start;
      }
#pragma GCC unroll 8
      for (int w = part * kWords; w < (part + 1) * kWords; ++w) {
        Bytes words[kVectors];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) words[v] = load_bytes(runs[v] + at + w * kVectorBytes);
#pragma GCC unroll 8
        for (int t = 0; t < kTokens; ++t) {
          const Ints word = splat_word(quants + t * x.columns + 4 * w);
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v) dots[t][v] = dot(dots[t][v], words[v], word);
        }
      }
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const auto* floats = reinterpret_cast<const float*>(runs[v] + at + 8 * kVectorBytes);
        const Floats scale = load(floats + part * kVectorRows);
#pragma GCC unroll 8
        for (int t = 0; t < kTokens; ++t) {
          const Floats value = to_floats(dots[t][v]);
          if constexpr (!kHalves) {
            sums[t][v] = multiply_add(value, multiply(scale, splat(scales[t * scale_stride])), sums[t][v]);
          } else if (part == 0) {
            halves[t][v] = multiply(value, scale);
          } else {
            sums[t][v] = multiply_add(multiply_add(value, scale, halves[t][v]), splat(scales[t * scale_stride]), sums[t][v]);
          }
        }
        if constexpr (kMinimum) {
          const Floats minimum = load(floats + (kParts + part) * kVectorRows);
#pragma GCC unroll 8
          for (int t = 0; t < kTokens; ++t) {
            sums[t][v] = multiply_subtract(minimum, splat(minimum_sums[t * x.parts + part]), sums[t][v]);
          }
        }
      }
    }
    quants += kActivationBlock;
    scales += 1;
    starts += kParts;
    if constexpr (kMinimum) minimum_sums += kParts;
  }
#pragma GCC unroll 8
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      float* target = out[v] + (row + t) * out_stride;
      store(accumulate ? add(load(target), sums[t][v]) : sums[t][v], target);
    }
  }
}

template <bool kHalves, bool kMinimum, int kVectors, int kTokens>
HWY_INLINE int64_t multiply_run_rows(const std::byte* const (&runs)[kVectors], ColumnChunk chunk, const Activations& x, int64_t row,
                                     bool accumulate, float* const (&out)[kVectors], int64_t out_stride) {
  for (; row + kTokens <= x.rows; row += kTokens) {
    multiply_runs<kHalves, kMinimum, kVectors, kTokens>(runs, chunk, x, row, accumulate, out, out_stride);
  }
  return row;
}

template <bool kHalves, bool kMinimum, int kVectors>
void multiply_vectors(const std::byte* const (&runs)[kVectors], ColumnChunk chunk, const Activations& x, bool accumulate,
                      float* const (&out)[kVectors], int64_t out_stride) {
  int64_t row = multiply_run_rows<kHalves, kMinimum, kVectors, kRunTokens>(runs, chunk, x, 0, accumulate, out, out_stride);
  if constexpr (kRunTokens > 2) {
    row = multiply_run_rows<kHalves, kMinimum, kVectors, 2>(runs, chunk, x, row, accumulate, out, out_stride);
  }
  multiply_run_rows<kHalves, kMinimum, kVectors, 1>(runs, chunk, x, row, accumulate, out, out_stride);
}

// Where the run of vector `vector`, counted over all tiles, begins.
HWY_INLINE const std::byte* run_start(const ExpandedTiles& tiles, int64_t run, int64_t vector) {
  return tiles.data + vector / kVectorsOfTile * tiles.stride + vector % kVectorsOfTile * run;
}

template <bool kHalves, bool kMinimum>
void multiply_expanded(const ExpandedTiles& tiles, ColumnChunk chunk, const Activations& x, bool accumulate, float* out,
                       int64_t out_stride) {
  const int64_t run = chunk.count / kActivationBlock * kExpandedVectors<kHalves, kMinimum> * kVectorBytes;
  const int64_t vectors = tiles.count * kVectorsOfTile;
  int64_t vector = 0;
  for (; vector + kRunVectors <= vectors; vector += kRunVectors) {
    const std::byte* runs[kRunVectors];
    float* targets[kRunVectors];
    for (int v = 0; v < kRunVectors; ++v) {
      runs[v] = run_start(tiles, run, vector + v);
      targets[v] = out + (vector + v) * kVectorRows;
    }
    multiply_vectors<kHalves, kMinimum, kRunVectors>(runs, chunk, x, accumulate, targets, out_stride);
  }
  for (; vector < vectors; ++vector) {
    const std::byte* runs[1] = {run_start(tiles, run, vector)};
    float* targets[1] = {out + vector * kVectorRows};
    multiply_vectors<kHalves, kMinimum, 1>(runs, chunk, x, accumulate, targets, out_stride);
  }
}

// The kernels of a format; for many rows of activations it may be taken apart as another, `Many`.
template <class Format, class Many = Format>
TileKernels kernels_of() {
  TileKernels kernels;
  kernels.few_rows = kFewRows;
  kernels.few_form = {ActivationForm::Kind::int8, kDotBias - Format::kZero, Format::kHalves, Format::kMinimum};
  kernels.multiply = multiply_tile<Format>;
  kernels.many_form = {ActivationForm::Kind::int8, kDotBias - Many::kZero, Many::kHalves, Many::kMinimum};
  kernels.expand = expand_tile<Many>;
  kernels.expanded_bytes = int64_t{kExpandedVectors<Many::kHalves, Many::kMinimum>} * kVectorBytes * kVectorsOfTile;
  kernels.multiply_expanded = multiply_expanded<Many::kHalves, Many::kMinimum>;
  return kernels;
}
