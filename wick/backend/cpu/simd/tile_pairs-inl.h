// The kernels of TileKernels for interleaved f16 and bf16, in the vector operations of one instruction set: included behind
// tile_kernels-inl.h. A lane of a word holds two columns of a row.
#pragma once

// low() and high() are the lanes' first and second columns. For few rows of activations a word is taken apart as it comes cheapest: first()
// times first_factor() plus second() times second_factor(), summed up over the words, make the rows' sums by join().
struct Bf16Pairs {
  static HWY_INLINE Floats low(Bytes pairs) { return low_bf16(pairs); }
  static HWY_INLINE Floats high(Bytes pairs) { return high_bf16(pairs); }
  static HWY_INLINE Floats first(const std::byte* word) { return low(load_bytes(word)); }
  static HWY_INLINE Floats second(const std::byte* word) { return high(load_bytes(word)); }
  static HWY_INLINE Floats first_factor(const float* values) { return splat(values[0]); }
  static HWY_INLINE Floats second_factor(const float* values) { return splat(values[1]); }
  static HWY_INLINE Floats join(Floats first, Floats second) { return add(first, second); }
};

// Both columns of the first half of the rows, then of the second: processors widen f16 that lie side by side.
struct F16Pairs {
  static HWY_INLINE Floats low(Bytes pairs) { return low_f16(pairs); }
  static HWY_INLINE Floats high(Bytes pairs) { return high_f16(pairs); }
  static HWY_INLINE Floats first(const std::byte* word) { return load_f16(word); }
  static HWY_INLINE Floats second(const std::byte* word) { return load_f16(word + kVectorBytes / 2); }
  static HWY_INLINE Floats first_factor(const float* values) { return splat_pair(values); }
  static HWY_INLINE Floats second_factor(const float* values) { return splat_pair(values); }
  static HWY_INLINE Floats join(Floats first, Floats second) { return add_neighbours(first, second); }
};

template <class Pairs, int kTokens>
void multiply_pairs(const std::byte* tile, int64_t bytes_ahead, int lane, const Activations& x, int64_t row, float* out,
                    int64_t out_stride) {
  Floats first_sums[kTokens];
  Floats second_sums[kTokens];
#pragma GCC unroll 8
  for (int t = 0; t < kTokens; ++t) first_sums[t] = second_sums[t] = zero();
  const float* values = x.values + row * x.columns;
#pragma GCC unroll 4
  for (int64_t word = 0; word < x.columns / 2; ++word) {
    const std::byte* pairs = unit_at<4>(tile, word, lane);
    if (bytes_ahead > 0) ask_for_line(pairs + bytes_ahead);
    const Floats first = Pairs::first(pairs);
    const Floats second = Pairs::second(pairs);
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) {
      const float* factors = values + t * x.columns + 2 * word;
      first_sums[t] = multiply_add(first, Pairs::first_factor(factors), first_sums[t]);
      second_sums[t] = multiply_add(second, Pairs::second_factor(factors), second_sums[t]);
    }
  }
  for (int t = 0; t < kTokens; ++t) store(Pairs::join(first_sums[t], second_sums[t]), out + (row + t) * out_stride + lane);
}

template <class Pairs>
void multiply_float_tile(const std::byte* tile, int64_t bytes_ahead, const Activations& x, float* out, int64_t out_stride) {
  for (int lane = 0; lane < 16; lane += kVectorRows) {
    int64_t row = 0;
    for (; row + 4 <= x.rows; row += 4) multiply_pairs<Pairs, 4>(tile, bytes_ahead, lane, x, row, out, out_stride);
    for (; row + 2 <= x.rows; row += 2) multiply_pairs<Pairs, 2>(tile, bytes_ahead, lane, x, row, out, out_stride);
    for (; row < x.rows; ++row) multiply_pairs<Pairs, 1>(tile, bytes_ahead, lane, x, row, out, out_stride);
  }
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

template <int kVectors, int kTokens>
void multiply_columns(const float* const (&columns)[kVectors], ColumnChunk chunk, const Activations& x, int64_t row,
                      const ChunkSums& target) {
  Floats sums[kTokens][kVectors];
#pragma GCC unroll 16
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[t][v] = zero();
  }
  const float* values = x.values + row * x.columns + chunk.first;
  for (int64_t column = 0; column < chunk.count; ++column) {
    Floats weights[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) weights[v] = load(columns[v] + column * 16);
#pragma GCC unroll 16
    for (int t = 0; t < kTokens; ++t) {
      const Floats value = splat(values[t * x.columns + column]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[t][v] = multiply_add(weights[v], value, sums[t][v]);
    }
  }
#pragma GCC unroll 16
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) store_sum(sums[t][v], target, t, v);
  }
}

template <int kVectors>
void multiply_column_rows(const float* const (&columns)[kVectors], ColumnChunk chunk, const Activations& x, const ChunkSums& sums,
                          int64_t lane) {
  int64_t row = 0;
  for (; row + kFloatTokens <= x.rows; row += kFloatTokens)
    multiply_columns<kVectors, kFloatTokens>(columns, chunk, x, row, sums.from(row, lane));
  for (; row + 2 <= x.rows; row += 2) multiply_columns<kVectors, 2>(columns, chunk, x, row, sums.from(row, lane));
  for (; row < x.rows; ++row) multiply_columns<kVectors, 1>(columns, chunk, x, row, sums.from(row, lane));
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

template <class Pairs>
void set_float_kernels(TileKernels& kernels) {
  kernels.few_rows = kFewFloatRows;
  kernels.few_form = {.kind = ActivationForm::Kind::f32};
  kernels.multiply = multiply_float_tile<Pairs>;
  kernels.bytes_ahead = stream_bytes_ahead();
  kernels.many.form = kernels.few_form;
  kernels.many.expand = expand_floats<Pairs>;
  kernels.many.expanded_bytes = kWideActivationBlock * 16 * int64_t{sizeof(float)};
  kernels.many.multiply = multiply_expanded_floats;
}
