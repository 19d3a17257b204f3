// Attention of single tokens: scores against rows of a cache, and sums of its rows by weights.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "wick/backend/cpu/simd/cache_kernels.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <cstring>
#include <type_traits>

#include "wick/backend/cpu/simd/select.h"
#include "wick/backend/cpu/simd/simd_kernels.h"
#include "wick/backend/cpu/simd/wide_loads-inl.h"
#include "wick/base/half.h"

HWY_BEFORE_NAMESPACE();
namespace wick::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// One format of rows: elements i, i + 1, … as a vector, and element i alone; the bytes of n elements.
template <class T>
struct FloatRows {
  static constexpr int64_t bytes(int64_t n) { return n * int64_t{sizeof(T)}; }
  static HWY_INLINE V load(const std::byte* row, int64_t i) { return load_wide(reinterpret_cast<const T*>(row) + i); }
  static float one(const std::byte* row, int64_t i) { return static_cast<float>(reinterpret_cast<const T*>(row)[i]); }
};

// Blocks of a scale (f16) and 32 bytes; the lanes of a vector lie in one block.
struct Q80Rows {
  static constexpr int64_t kBlock = 32;
  static constexpr int64_t kBytes = 34;
  static constexpr int64_t bytes(int64_t n) { return n * kBytes / kBlock; }
  static HWY_INLINE float scale(const std::byte* block) {
#if HWY_TARGET == HWY_SCALAR
    uint16_t bits;
    std::memcpy(&bits, block, sizeof(bits));
    return f16_bits_to_float(bits);
#else
    // The smallest vector that every machine converts; a block is longer.
    const hn::CappedTag<float, 4> d4;
    const hn::Rebind<hwy::float16_t, decltype(d4)> dh;
    const hn::Rebind<uint16_t, decltype(d4)> du;
    return hn::GetLane(hn::PromoteTo(d4, hn::BitCast(dh, hn::LoadU(du, reinterpret_cast<const uint16_t*>(block)))));
#endif
  }
  static HWY_INLINE V load(const std::byte* row, int64_t i) {
    const hn::Rebind<int8_t, D> d8;
    const hn::Rebind<int32_t, D> d32;
    const std::byte* block = row + i / kBlock * kBytes;
    const auto codes = hn::LoadU(d8, reinterpret_cast<const int8_t*>(block + 2) + i % kBlock);
    return hn::Mul(hn::ConvertTo(D(), hn::PromoteTo(d32, codes)), hn::Set(D(), scale(block)));
  }
  static float one(const std::byte* row, int64_t i) {
    const std::byte* block = row + i / kBlock * kBytes;
    return scale(block) * static_cast<float>(static_cast<int8_t>(block[2 + i % kBlock]));
  }
};

// Rows as a kernel reads them for its heads.
struct Stream {
  const std::byte* data;
  int64_t stride;
  int64_t positions;
  int64_t ahead;  // how many rows ahead of their use rows are prefetched; 0: none are

  [[nodiscard]] const std::byte* row(int64_t position) const { return data + position * stride; }
};

int64_t rows_ahead(const CacheRows& rows) { return rows.stride <= 0 ? 0 : (rows.prefetch_distance + rows.stride - 1) / rows.stride; }

HWY_INLINE void prefetch_row(const std::byte* data, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += 64) prefetch_line(data + at);
}

constexpr int kTogether = 4;  // positions whose sums over lanes are taken at once

// out[0…3] = the sums over the lanes of four vectors.
#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void store_lane_sums(const V* sums, float* out) {
  for (int i = 0; i < kTogether; ++i) out[i] = hn::GetLane(sums[i]);
}
#else
template <class Tag>
HWY_INLINE void store_sum_of_blocks(Tag d, hn::Vec<Tag> v, float* out) {
  if constexpr (hn::MaxLanes(Tag()) > 4) {
    const hn::Half<Tag> half;
    store_sum_of_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), out);
  } else {
    hn::StoreU(v, d, out);
  }
}

HWY_INLINE void store_lane_sums(const V* sums, float* out) {
  const D d;
  // Blocks of 128 bits: [a0+a2, c0+c2, a1+a3, c1+c3], the same of b and d, then [Σa, Σb, Σc, Σd].
  const V even = hn::Add(hn::InterleaveLower(d, sums[0], sums[2]), hn::InterleaveUpper(d, sums[0], sums[2]));
  const V odd = hn::Add(hn::InterleaveLower(d, sums[1], sums[3]), hn::InterleaveUpper(d, sums[1], sums[3]));
  store_sum_of_blocks(d, hn::Add(hn::InterleaveLower(d, even, odd), hn::InterleaveUpper(d, even, odd)), out);
}
#endif

template <class Rows, int kHeads>
HWY_INLINE void scores_of_four(const MatrixView<const float>& queries, const std::byte* keys, int64_t stride, float* scores,
                               int64_t score_stride) {
  const D d;
  const float* q = queries.data;
  const int64_t q_stride = queries.stride, n = queries.columns;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V sums[kHeads][kTogether];
  for (int h = 0; h < kHeads; ++h) {
    for (int p = 0; p < kTogether; ++p) sums[h][p] = hn::Zero(d);
  }
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    V key[kTogether];
    for (int p = 0; p < kTogether; ++p) key[p] = Rows::load(keys + p * stride, i);
    for (int h = 0; h < kHeads; ++h) {
      const V query = hn::LoadU(d, q + h * q_stride + i);
      for (int p = 0; p < kTogether; ++p) sums[h][p] = hn::MulAdd(key[p], query, sums[h][p]);
    }
  }
  for (int h = 0; h < kHeads; ++h) {
    float* out = scores + h * score_stride;
    store_lane_sums(sums[h], out);
    for (int64_t j = i; j < n; ++j) {
      for (int p = 0; p < kTogether; ++p) out[p] += Rows::one(keys + p * stride, j) * q[h * q_stride + j];
    }
  }
}

template <class Rows, int kHeads>
void scores_of(const MatrixView<const float>& queries, const Stream& keys, const MatrixView<float>& scores) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t n = queries.columns;
  int64_t position = 0;
  for (; position + kTogether <= keys.positions; position += kTogether) {
    for (int p = 0; keys.ahead > 0 && p < kTogether; ++p) prefetch_row(keys.row(position + keys.ahead + p), Rows::bytes(n));
    scores_of_four<Rows, kHeads>(queries, keys.row(position), keys.stride, scores.data + position, scores.stride);
  }
  for (; position < keys.positions; ++position) {
    const std::byte* key = keys.row(position);
    for (int h = 0; h < kHeads; ++h) {
      const float* q = queries.row(h);
      V sum = hn::Zero(d);
      int64_t i = 0;
      for (; i + lanes <= n; i += lanes) sum = hn::MulAdd(Rows::load(key, i), hn::LoadU(d, q + i), sum);
      float total = hn::GetLane(hn::SumOfLanes(d, sum));
      for (; i < n; ++i) total += Rows::one(key, i) * q[i];
      scores.row(h)[position] = total;
    }
  }
}

// Columns [i, i + kVectors · lanes) of the sums.
template <class Rows, int kHeads, int kVectors>
HWY_INLINE void sum_columns(const MatrixView<const float>& weights, const Stream& values, const MatrixView<float>& out, int64_t i) {
  const D d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const float* first_weight = weights.data;
  const int64_t weight_stride = weights.stride;
  const auto [data, stride, positions, ahead] = values;
  V sums[kHeads][kVectors];
  for (int h = 0; h < kHeads; ++h) {
    for (int v = 0; v < kVectors; ++v) sums[h][v] = hn::LoadU(d, out.row(h) + i + v * lanes);
  }
  for (int64_t position = 0; position < positions; ++position) {
    if (ahead > 0) prefetch_row(data + (position + ahead) * stride + Rows::bytes(i), Rows::bytes(kVectors * lanes));
    V value[kVectors];
    for (int v = 0; v < kVectors; ++v) value[v] = Rows::load(data + position * stride, i + v * lanes);
    for (int h = 0; h < kHeads; ++h) {
      const V weight = hn::Set(d, first_weight[h * weight_stride + position]);
      for (int v = 0; v < kVectors; ++v) sums[h][v] = hn::MulAdd(value[v], weight, sums[h][v]);
    }
  }
  for (int h = 0; h < kHeads; ++h) {
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[h][v], d, out.row(h) + i + v * lanes);
  }
}

template <class Rows, int kHeads>
void weighted_sum_of(const MatrixView<const float>& weights, const Stream& values, const MatrixView<float>& out) {
  constexpr int kVectors = HWY_TARGET == HWY_AVX2 ? 2 : 4;  // of 16 registers or of 32
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  const int64_t n = out.columns;
  int64_t i = 0;
  for (; i + kVectors * lanes <= n; i += kVectors * lanes) sum_columns<Rows, kHeads, kVectors>(weights, values, out, i);
  for (; i + lanes <= n; i += lanes) sum_columns<Rows, kHeads, 1>(weights, values, out, i);
  for (; i < n; ++i) {
    for (int h = 0; h < kHeads; ++h) {
      for (int64_t position = 0; position < values.positions; ++position)
        out.row(h)[i] += weights.row(h)[position] * Rows::one(values.row(position), i);
    }
  }
}

// Calls body(constant of the number of heads, first head, rows) for all heads. Rows are prefetched for the first ones; the others find them
// in the cache.
template <class Body>
void for_each_heads(int64_t heads, const CacheRows& rows, const Body& body) {
  Stream stream{rows.data, rows.stride, rows.positions, rows_ahead(rows)};
  int64_t head = 0;
  for (; head + 4 <= heads; head += 4, stream.ahead = 0) body(std::integral_constant<int, 4>(), head, stream);
  for (; head < heads; ++head, stream.ahead = 0) body(std::integral_constant<int, 1>(), head, stream);
}

template <class Rows>
void scores(const MatrixView<const float>& queries, const CacheRows& keys, const MatrixView<float>& out) {
  for_each_heads(queries.rows, keys, [&](auto heads, int64_t head, const Stream& stream) {
    scores_of<Rows, heads()>(queries.part(head, 0, heads(), queries.columns), stream, out.part(head, 0, heads(), out.columns));
  });
}

template <class Rows>
void weighted_sum(const MatrixView<const float>& weights, const CacheRows& values, const MatrixView<float>& out) {
  for_each_heads(weights.rows, values, [&](auto heads, int64_t head, const Stream& stream) {
    weighted_sum_of<Rows, heads()>(weights.part(head, 0, heads(), weights.columns), stream, out.part(head, 0, heads(), out.columns));
  });
}

void fill_cache(SimdKernels& kernels) {
  kernels.cache_f32 = {scores<FloatRows<float>>, weighted_sum<FloatRows<float>>};
  kernels.cache_f16 = {scores<FloatRows<f16>>, weighted_sum<FloatRows<f16>>};
  kernels.cache_bf16 = {scores<FloatRows<bf16>>, weighted_sum<FloatRows<bf16>>};
  kernels.cache_q8_0 = {scores<Q80Rows>, weighted_sum<Q80Rows>};
}

}  // namespace HWY_NAMESPACE
}  // namespace wick::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick::cpu {

void fill_cache_kernels(SimdKernels& kernels) { WICK_CALL_FOR_SET(kernels.set, fill_cache, kernels); }

}  // namespace wick::cpu
#endif
