// The kernels of TileKernels for interleaved f16 and bf16, in the vector operations of one instruction set: included behind
// tile_kernels-inl.h. A lane of a word holds two columns of a row.
#pragma once

// low() and high() are the lanes' first and second columns. For few rows of activations a word is taken apart as it comes cheapest: first()
// times first_factor() plus second() times second_factor(), summed up over the words, make the rows' sums by join().
struct Bf16Pairs {
  static constexpr int kFewRows = kFewFloatRows, kFewPasses = kFewFloatPasses;
  static HWY_INLINE Floats low(Bytes pairs) { return low_bf16(pairs); }
  static HWY_INLINE Floats high(Bytes pairs) { return high_bf16(pairs); }
  static HWY_INLINE Floats first(const std::byte* word) { return low(load_bytes(word)); }
  static HWY_INLINE Floats second(const std::byte* word) { return high(load_bytes(word)); }
  static HWY_INLINE Floats first_factor(const float* values) { return splat(values[0]); }
  static HWY_INLINE Floats second_factor(const float* values) { return splat(values[1]); }
  static HWY_INLINE Floats join(Floats first, Floats second) { return add(first, second); }
};

// Both columns of the first half of the rows, then of the second: processors widen f16 that lie side by side.
// Products of several rows leave the processor little room to run ahead: on Zen 5, from memory, 4 rows read 11 GB/s unasked and 27 with
// kSlowPrefetchDistance, 8 rows 7 and 22.
struct F16Pairs {
  static constexpr bool kSlow = true;
  static constexpr int kFewRows = kFewHalfRows, kFewPasses = kFewHalfPasses;
  static HWY_INLINE Floats low(Bytes pairs) { return low_f16(pairs); }
  static HWY_INLINE Floats high(Bytes pairs) { return high_f16(pairs); }
  static HWY_INLINE Floats first(const std::byte* word) { return load_f16(word); }
  static HWY_INLINE Floats second(const std::byte* word) { return load_f16(word + kVectorBytes / 2); }
  static HWY_INLINE Floats first_factor(const float* values) { return splat_pair(values); }
  static HWY_INLINE Floats second_factor(const float* values) { return splat_pair(values); }
  static HWY_INLINE Floats join(Floats first, Floats second) { return add_neighbours(first, second); }
};

template <class Pairs, int kTokens>
void multiply_pairs(const std::byte* tile, int64_t prefetch_distance, int lane, const Activations& x, float* out, int64_t out_stride) {
  Floats first_sums[kTokens];
  Floats second_sums[kTokens];
#pragma GCC unroll 16
  for (int t = 0; t < kTokens; ++t) first_sums[t] = second_sums[t] = zero();
#pragma GCC unroll 4
  for (int64_t word = 0; word < x.columns / 2; ++word) {
    const std::byte* pairs = unit_at<4>(tile, word, lane);
    if (prefetch_distance > 0) prefetch_line(pairs + prefetch_distance);
    const Floats first = Pairs::first(pairs);
    const Floats second = Pairs::second(pairs);
#pragma GCC unroll 16
    for (int t = 0; t < kTokens; ++t) {
      const float* factors = x.values + t * x.columns + 2 * word;
      first_sums[t] = multiply_add(first, Pairs::first_factor(factors), first_sums[t]);
      second_sums[t] = multiply_add(second, Pairs::second_factor(factors), second_sums[t]);
    }
  }
#pragma GCC unroll 16
  for (int t = 0; t < kTokens; ++t) store(Pairs::join(first_sums[t], second_sums[t]), out + t * out_stride + lane);
}

template <class Pairs, int kTokens = Pairs::kFewRows>
void multiply_float_tile(const std::byte* tile, int64_t prefetch_distance, const Activations& x, float* out, int64_t out_stride) {
  if constexpr (kTokens > 1) {
    if (x.rows < kTokens) return multiply_float_tile<Pairs, kTokens - 1>(tile, prefetch_distance, x, out, out_stride);
  }
  for (int lane = 0; lane < 16; lane += kVectorRows) multiply_pairs<Pairs, kTokens>(tile, prefetch_distance, lane, x, out, out_stride);
}

// Column by column the 16 rows as f32.
template <class Pairs>
void expand_floats(const std::byte* tile, ColumnChunk chunk, std::byte* expanded) {
  auto* target = reinterpret_cast<float*>(expanded);
  for (int64_t word = chunk.first / 2; word < (chunk.first + chunk.count) / 2; ++word, target += 2 * 16) {
    for (int lane = 0; lane < 16; lane += kVectorRows) {
      const Bytes pairs = load_bytes(unit_at<4>(tile, word, lane));
      store(Pairs::low(pairs), target + lane);
      store(Pairs::high(pairs), target + 16 + lane);
    }
  }
}

// kVectors vectors of weight rows times the kTokens rows of a panel of activations, whose first 32 columns of the chunk lie at `values`.
// Meanwhile the first-level cache is asked for the sums, and for the next panel's columns, at `next`.
template <int kVectors, int kTokens>
void multiply_columns(const float* const (&columns)[kVectors], int64_t count, const float* values, const float* next,
                      const ChunkSums& target) {
  const bool adds = target.earlier != nullptr;
  const float* const sums_before = adds ? target.earlier : target.out;
  const int64_t sums_stride = adds ? target.earlier_stride : target.out_stride;
#pragma GCC unroll 16
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) __builtin_prefetch(sums_before + t * sums_stride + v * kVectorRows);
  }
  Floats sums[kTokens][kVectors];
#pragma GCC unroll 16
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[t][v] = zero();
  }
  for (int64_t first = 0; first < count; first += kActivationBlock, values += kTokens * kActivationBlock) {
#pragma GCC unroll 4
    for (int64_t column = 0; column < kActivationBlock; ++column) {
      __builtin_prefetch(next + (first + column) * kTokens);
      Floats weights[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) weights[v] = load(columns[v] + (first + column) * 16);
#pragma GCC unroll 16
      for (int t = 0; t < kTokens; ++t) {
        const Floats value = splat(values[t * kActivationBlock + column]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sums[t][v] = multiply_add(weights[v], value, sums[t][v]);
      }
    }
  }
#pragma GCC unroll 16
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) store_sum(sums[t][v], target, t, v);
  }
}

// The fewest rows of a panel, there being more than kFewFloatRows of them in all.
inline constexpr int64_t kMinFloatTokens = least_panel_rows(kFewFloatRows, kFloatTokens);

template <int kVectors, int kTokens = kFloatTokens>
void multiply_column_panel(const float* const (&columns)[kVectors], int64_t count, int64_t rows, const float* values, const float* next,
                           const ChunkSums& target) {
  if constexpr (kTokens > kMinFloatTokens) {
    if (rows < kTokens) return multiply_column_panel<kVectors, kTokens - 1>(columns, count, rows, values, next, target);
  }
  multiply_columns<kVectors, kTokens>(columns, count, values, next, target);
}

template <int kVectors>
void multiply_column_rows(const float* const (&columns)[kVectors], ColumnChunk chunk, const Activations& x, const ChunkSums& sums,
                          int64_t lane) {
  const TokenPanels panels{x.rows, kFloatTokens};
  const auto values_of = [&](int64_t panel) {
    const int64_t row = panels.first(panel);
    return x.values + row * x.columns + chunk.first * (panels.first(panel + 1) - row);
  };
  for (int64_t panel = 0; panel < panels.count; ++panel) {
    const int64_t row = panels.first(panel);
    multiply_column_panel(columns, chunk.count, panels.first(panel + 1) - row, values_of(panel), values_of((panel + 1) % panels.count),
                          sums.from(row, lane));
  }
}

// Where the columns of vector `vector`, counted over all tiles, begin.
HWY_INLINE const float* column_at(const ExpandedTiles& tiles, int64_t vector) {
  return reinterpret_cast<const float*>(tiles.data + vector / kVectorsOfTile * tiles.stride) + vector % kVectorsOfTile * kVectorRows;
}

inline void multiply_expanded_floats(const ExpandedTiles& tiles, ColumnChunk chunk, const Activations& x, const ChunkSums& sums) {
  const int64_t vectors = tiles.count * kVectorsOfTile;
  int64_t vector = 0;
  for (; vector + 2 <= vectors; vector += 2) {
    const float* columns[2] = {column_at(tiles, vector), column_at(tiles, vector + 1)};
    multiply_column_rows<2>(columns, chunk, x, sums, vector * kVectorRows);
  }
  if (vector == vectors) return;
  const float* columns[1] = {column_at(tiles, vector)};
  multiply_column_rows<1>(columns, chunk, x, sums, vector * kVectorRows);
}

// Tiles that a chunk of columns of the activations meets, two vectors at a time, once it is in the second-level cache: of 512 rows that
// takes the rest of it. On Zen 5, one thread: 280 tokens/s with 2 tiles, 345 with 8, 356 with 16; 16, 32 and 64 are within the noise.
inline constexpr int64_t kManyFloatTiles = 32;

template <class Pairs>
void set_float_kernels(TileKernels& kernels) {
  kernels.few_rows = Pairs::kFewRows;
  kernels.few_passes = Pairs::kFewPasses;
  kernels.few_form = {.kind = ActivationForm::Kind::f32};
  kernels.multiply = multiply_float_tile<Pairs>;
  kernels.skinny_prefetch = kInitialPrefetchDistance<Pairs>;
  kernels.many.form = {.kind = ActivationForm::Kind::f32, .panel_rows = kFloatTokens};
  kernels.many.tiles = kManyFloatTiles;
  kernels.many.expand = expand_floats<Pairs>;
  kernels.many.expanded_bytes = kWideActivationBlock * 16 * int64_t{sizeof(float)};
  kernels.many.multiply = multiply_expanded_floats;
}
