// Register tiles of matrix products: rows × two vectors of sums, each step one row of the right panel and a broadcast from each left row.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "wick/backend/cpu/simd/product_kernels.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <iterator>

#include "wick/backend/cpu/simd/select.h"
#include "wick/backend/cpu/simd/simd_kernels.h"
#include "wick/backend/cpu/simd/wide_loads-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
using Vector = hn::Vec<Tag<T>>;

// As many rows as leave registers for the right panel and a broadcast: 2 · 14 + 3 of 32, 2 · 6 + 3 of 16. Even numbers.
constexpr bool kAvx512 = HWY_TARGET == HWY_AVX3;
constexpr bool kNeon = HWY_TARGET == HWY_NEON;
constexpr bool kEmulated = HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR;
constexpr int kTileRows = kAvx512 ? 14 : kNeon ? 12 : kEmulated ? 4 : 6;
constexpr bool kManyRegisters = kAvx512 || kNeon;

template <class T>
struct TileCall {
  int64_t k;
  const T* a;
  const T* b;
  int64_t b_stride;        // of rows in order, or
  const int64_t* offsets;  // of rows anywhere
  MatrixView<T> c;
  bool accumulate;
  ReadAhead* ahead;
};

template <class T>
HWY_INLINE void store_part(const TileCall<T>& call, const T* sums, int64_t sum_stride) {
  for (int64_t row = 0; row < call.c.rows; ++row) {
    T* c = call.c.row(row);
    for (int64_t column = 0; column < call.c.columns; ++column) {
      c[column] = call.accumulate ? c[column] + sums[row * sum_stride + column] : sums[row * sum_stride + column];
    }
  }
}

// The sums of a tile, to c.
template <int kRows, int kVectors, class T>
HWY_INLINE void store_tile(const TileCall<T>& call, bool whole, Vector<T> (&sums)[kRows][kVectors]) {
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (!whole) {
    HWY_ALIGN T buffer[kRows * kVectors * HWY_MAX_BYTES / sizeof(T)];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[r][v], d, buffer + (r * kVectors + v) * lanes);
    }
    return store_part(call, buffer, kVectors * lanes);
  }
  T* c = call.c.data;
  const int64_t c_stride = call.c.stride;
  if (call.accumulate) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Add(hn::LoadU(d, c + r * c_stride + v * lanes), sums[r][v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r, c += c_stride) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[r][v], d, c + v * lanes);
  }
}

template <int kRows, int kVectors, bool kAnywhere, class T>
void multiply_tile(const TileCall<T>& call) {
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const bool whole = call.c.rows == kRows && call.c.columns == kVectors * lanes;
  if (whole && call.accumulate) {
    for (int r = 0; r < kRows; ++r) __builtin_prefetch(call.c.row(r), 1);
  }
  Vector<T> sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  // Without anything to read ahead, a line that is there already is asked for.
  const ReadAhead ahead = call.ahead != nullptr ? *call.ahead : ReadAhead{};
  const std::byte* line = ahead.line != nullptr ? ahead.line : reinterpret_cast<const std::byte*>(call.a);
  const std::byte* row_end = ahead.row_end;
  const int64_t line_bytes = ahead.line != nullptr ? ahead.step : 0;
  const T* HWY_RESTRICT a = call.a;
  for (int64_t i = 0; i < call.k; ++i, ++a) {
    if (!kAnywhere) {
      __builtin_prefetch(line, 0, 2);
      line += line_bytes;
      if (line == row_end) {
        line += ahead.stride - ahead.row_bytes;
        row_end += ahead.stride;
      }
    }
    const T* HWY_RESTRICT b = call.b + (kAnywhere ? call.offsets[i] : i * call.b_stride);
    Vector<T> right[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) right[v] = hn::LoadU(d, b + v * lanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const Vector<T> left = hn::Set(d, a[r * kProductStride]);  // NOLINT(clang-analyzer-core.NullDereference): callers have one
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(left, right[v], sums[r][v]);
    }
  }
  if (call.ahead != nullptr) {
    call.ahead->line = line;
    call.ahead->row_end = row_end;
    call.ahead->bytes_left -= call.k * ahead.step;
  }
  store_tile(call, whole, sums);
}

template <int kRows, bool kAnywhere, class T>
void multiply_rows(const TileCall<T>& call) {
  if constexpr (kRows > 2) {
    if (call.c.rows <= kRows - 2) return multiply_rows<kRows - 2, kAnywhere>(call);
  }
  if (call.c.columns > static_cast<int64_t>(hn::Lanes(Tag<T>()))) return multiply_tile<kRows, 2, kAnywhere>(call);
  multiply_tile<kRows, 1, kAnywhere>(call);
}

template <class T>
void multiply(const T* a, const MatrixView<const T>& b, const MatrixView<T>& c, bool accumulate, ReadAhead* ahead) {
  multiply_rows<kTileRows, false>(TileCall<T>{b.rows, a, b.data, b.stride, nullptr, c, accumulate, ahead});
}

template <class T>
void multiply_at(const T* a, const T* b, std::span<const int64_t> offsets, const MatrixView<T>& c, bool accumulate) {
  multiply_rows<kTileRows, true>(TileCall<T>{std::ssize(offsets), a, b, 0, offsets.data(), c, accumulate, nullptr});
}

template <class T>
void copy(const MatrixView<const T>& in, T* out, int64_t out_stride) {
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t columns = in.columns;
  for (int64_t row = 0; row < in.rows; ++row) {
    const T* source = in.row(row);
    T* target = out + row * out_stride;
    __builtin_prefetch(source + 8 * in.stride);
    int64_t column = 0;
    for (; column + lanes <= columns; column += lanes) hn::StoreU(hn::LoadU(d, source + column), d, target + column);
    for (; column < columns; ++column) target[column] = source[column];
  }
}

#if HWY_TARGET == HWY_SCALAR
template <class T>
HWY_INLINE void transpose_block(const T*, int64_t, T*, int64_t) {}
#else
// Blocks of 4 × 4 elements of 4 bytes: two rounds of interleaving.
template <class T>
HWY_INLINE void transpose_block(const T* in, int64_t in_stride, T* out, int64_t out_stride) {
  const hn::CappedTag<T, 4> d;
  const hn::Repartition<double, decltype(d)> pairs;
  const auto row0 = hn::LoadU(d, in);
  const auto row1 = hn::LoadU(d, in + in_stride);
  const auto row2 = hn::LoadU(d, in + 2 * in_stride);
  const auto row3 = hn::LoadU(d, in + 3 * in_stride);
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, row0, row1));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, row2, row3));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, row0, row1));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, row2, row3));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, out);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, out + out_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, out + 2 * out_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, out + 3 * out_stride);
}
#endif

template <class T>
void transpose(const MatrixView<const T>& in, T* out, int64_t out_stride) {
  const int64_t rows = in.rows, columns = in.columns;
  constexpr int64_t kBlock = HWY_TARGET != HWY_SCALAR && sizeof(T) == 4 ? 4 : 1;
  int64_t row = 0;
  for (; row + kBlock <= rows; row += kBlock) {
    int64_t column = 0;
    if constexpr (kBlock == 4) {
      for (; column + 4 <= columns; column += 4) {
        transpose_block(in.row(row) + column, in.stride, out + column * out_stride + row, out_stride);
      }
    }
    for (; column < columns; ++column) {
      for (int64_t r = row; r < row + kBlock; ++r) out[column * out_stride + r] = in.row(r)[column];
    }
  }
  for (; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) out[column * out_stride + row] = in.row(row)[column];
  }
}

void interleave(const uint16_t* first, const uint16_t* second, int64_t n, uint32_t* out) {
  const Tag<uint32_t> d;
  const hn::Rebind<uint16_t, decltype(d)> half;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto low = hn::PromoteTo(d, hn::LoadU(half, first + i));
    const auto high = hn::PromoteTo(d, hn::LoadU(half, second + i));
    hn::StoreU(hn::Or(low, hn::ShiftLeft<16>(high)), d, out + i);
  }
  for (; i < n; ++i) out[i] = static_cast<uint32_t>(first[i]) | static_cast<uint32_t>(second[i]) << 16;
}

template <int kRows, int kVectors, class T>
HWY_INLINE void thin_block(const MatrixView<const float>& x, const T* b, int64_t b_stride, float* c, int64_t c_stride) {
  const Tag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  Vector<float> sums[kRows][kVectors];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  const float* left_rows = x.data;
  const int64_t x_stride = x.stride;
  for (int64_t i = 0; i < x.columns; ++i, b += b_stride) {
    __builtin_prefetch(b + 4 * b_stride);
    __builtin_prefetch(b + 4 * b_stride + kVectors * lanes / 2);
    Vector<float> left[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) left[r] = hn::Set(d, left_rows[r * x_stride + i]);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const Vector<float> right = load_wide(b + v * lanes);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) sums[r][v] = hn::MulAdd(left[r], right, sums[r][v]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[r][v], d, c + r * c_stride + v * lanes);
  }
}

template <int kRows, class T>
void thin_rows(const MatrixView<const float>& x, const MatrixView<const T>& b, const MatrixView<float>& c) {
  constexpr int kVectors = kRows == 1 ? 8 : (kManyRegisters ? 16 : 8) / kRows;
  const auto lanes = static_cast<int64_t>(hn::Lanes(Tag<float>()));
  int64_t column = 0;
  for (; column + kVectors * lanes <= c.columns; column += kVectors * lanes)
    thin_block<kRows, kVectors>(x, b.data + column, b.stride, c.data + column, c.stride);
  for (; column + lanes <= c.columns; column += lanes) thin_block<kRows, 1>(x, b.data + column, b.stride, c.data + column, c.stride);
  for (; column < c.columns; ++column) {
    for (int64_t row = 0; row < kRows; ++row) {
      float sum = 0;
      for (int64_t i = 0; i < x.columns; ++i) sum += x.row(row)[i] * static_cast<float>(b.row(i)[column]);
      c.row(row)[column] = sum;
    }
  }
}

template <class T>
void thin(const MatrixView<const float>& x, const MatrixView<const T>& b, const MatrixView<float>& c) {
  switch (x.rows) {
    case 1: return thin_rows<1>(x, b, c);
    case 2: return thin_rows<2>(x, b, c);
    case 3: thin_rows<1>(x.part(2, 0, 1, x.columns), b, c.part(2, 0, 1, c.columns)); return thin_rows<2>(x, b, c);
    default: return thin_rows<4>(x, b, c);
  }
}

template <class T>
ProductTile<T, T> tile_of() {
  return {kTileRows, 2 * static_cast<int64_t>(hn::Lanes(Tag<T>())), multiply<T>, multiply_at<T>, copy<T>, transpose<T>};
}

void fill_product(SimdKernels& kernels) {
  ProductKernels& product = kernels.product;
  product.f32 = tile_of<float>();
  product.f64 = tile_of<double>();
  product.bf16_pairs.copy = copy<uint32_t>;
  product.bf16_pairs.transpose = transpose<uint32_t>;
  product.interleave = interleave;
  product.thin_f32 = thin<float>;
  // Highway's emulated conversion knows no infinity and no NaN of f16.
  if (!kEmulated) product.thin_f16 = thin<f16>;
  product.thin_bf16 = thin<bf16>;
}

}  // namespace HWY_NAMESPACE
}  // namespace wick::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick::cpu {

void fill_product_kernels(SimdKernels& kernels) { WICK_CALL_FOR_SET(kernels.set, fill_product, kernels); }

}  // namespace wick::cpu
#endif
