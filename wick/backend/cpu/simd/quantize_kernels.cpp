// Activations rounded to 8 bits per block: scale = largest magnitude / 127.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "wick/backend/cpu/simd/quantize_kernels.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "wick/backend/cpu/simd/select.h"
#include "wick/backend/cpu/simd/simd_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace wick::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
// The largest of each lane over the blocks of 128 bits of a vector.
template <class V>
HWY_INLINE auto largest_block(V v) {
  if constexpr (hn::MaxLanes(hn::DFromV<V>()) > 4) {
    const hn::Half<hn::DFromV<V>> half;
    return largest_block(hn::Max(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else {
    return v;
  }
}
#endif

// The largest lane of each of four vectors of 32-bit lanes.
template <class V>
HWY_INLINE void largest_of_each(const V (&v)[4], hn::TFromV<V>* out) {
  const hn::DFromV<V> d;
#if HWY_TARGET == HWY_SCALAR
  for (int i = 0; i < 4; ++i) hn::StoreU(v[i], d, out + i);
#else
  const hn::RepartitionToWide<decltype(d)> wide;
  const auto first = hn::BitCast(wide, hn::Max(hn::InterleaveLower(d, v[0], v[1]), hn::InterleaveUpper(d, v[0], v[1])));
  const auto second = hn::BitCast(wide, hn::Max(hn::InterleaveLower(d, v[2], v[3]), hn::InterleaveUpper(d, v[2], v[3])));
  const auto each = largest_block(
      hn::Max(hn::BitCast(d, hn::InterleaveLower(wide, first, second)), hn::BitCast(d, hn::InterleaveUpper(wide, first, second))));
  hn::StoreU(each, hn::DFromV<decltype(each)>(), out);
#endif
}

using FloatTag = hn::CappedTag<float, 16>;
using IntTag = hn::Rebind<int32_t, FloatTag>;
using Ints = hn::Vec<IntTag>;

// Of up to four blocks of columns that share a scale.
struct BlockScales {
  float scales[4];
  float inverses[4];  // NaN: the block has a NaN or an Inf
};

HWY_INLINE BlockScales scales_of(const float* x, int64_t columns, int64_t blocks) {
  const FloatTag df;
  const IntTag di;
  // Bits of magnitudes are in the order of the magnitudes, those of Inf and NaN above all others.
  Ints largest[4];
#pragma GCC unroll 4
  for (int64_t block = 0; block < 4; ++block) {
    largest[block] = hn::Zero(di);
    if (block >= blocks) continue;
    for (int64_t i = block * columns; i < (block + 1) * columns; i += static_cast<int64_t>(hn::Lanes(df)))
      largest[block] = hn::Max(largest[block], hn::BitCast(di, hn::Abs(hn::LoadU(df, x + i))));
  }
  alignas(16) int32_t bits[4];
  largest_of_each(largest, bits);
  constexpr int32_t kLargestFiniteBits = 0x7f7fffff;
  const hn::CappedTag<int32_t, 4> d4;
  const hn::Rebind<float, decltype(d4)> f4;
  BlockScales out;
  for (size_t i = 0; i < 4; i += hn::Lanes(d4)) {
    const auto magnitude_bits = hn::Load(d4, bits + i);
    const auto magnitude = hn::BitCast(f4, magnitude_bits);
    // A NaN or Inf poisons the scale, so that a bad activation is not hidden.
    const auto bad = hn::RebindMask(f4, hn::Gt(magnitude_bits, hn::Set(d4, kLargestFiniteBits)));
    const auto poison = hn::IfThenElseZero(bad, hn::Set(f4, std::numeric_limits<float>::quiet_NaN()));
    const auto usable = hn::Gt(magnitude, hn::Set(f4, 1e-30F));  // 127 / magnitude must stay finite
    hn::StoreU(hn::Add(hn::IfThenElseZero(usable, hn::Div(magnitude, hn::Set(f4, 127.0F))), poison), f4, out.scales + i);
    hn::StoreU(hn::Add(hn::IfThenElseZero(usable, hn::Div(hn::Set(f4, 127.0F), magnitude)), poison), f4, out.inverses + i);
  }
  return out;
}

inline constexpr int64_t kRun = 16;          // the least columns of an integer sum
inline constexpr float kToByte = 0x1.8p23F;  // added to a small number, leaves it rounded half to even in the bits' lowest byte

// Rounds a run to quants, and returns their sum.
#if HWY_TARGET == HWY_SCALAR
template <bool kOneRow>
HWY_INLINE int32_t quantize_run(const float* x, float inverse, int64_t rows, int8_t* quants) {
  int32_t sum = 0;
  for (int64_t i = 0; i < kRun; ++i) {
    const auto quant = static_cast<int8_t>(std::bit_cast<int32_t>(x[i] * inverse + kToByte));
    sum += quant;
    quants[kOneRow ? i : i / 4 * 4 * rows + i % 4] = quant;
  }
  return sum;
}
#else
template <int64_t kColumns>
HWY_INLINE auto quants_of(const float* x, float inverse) {
  const FloatTag df;
  if constexpr (kColumns > static_cast<int64_t>(hn::MaxLanes(df))) {
    const auto high = quants_of<kColumns / 2>(x + kColumns / 2, inverse);
    return hn::Combine(hn::Twice<hn::DFromV<decltype(high)>>(), high, quants_of<kColumns / 2>(x, inverse));
  } else {
    const hn::RebindToUnsigned<FloatTag> du;
    const auto rounded = hn::Add(hn::Mul(hn::LoadU(df, x), hn::Set(df, inverse)), hn::Set(df, kToByte));
    return hn::U8FromU32(hn::And(hn::BitCast(du, rounded), hn::Set(du, 0xff)));
  }
}

template <bool kOneRow>
HWY_INLINE int32_t quantize_run(const float* x, float inverse, int64_t rows, int8_t* quants) {
  const auto bytes = quants_of<kRun>(x, inverse);
  const hn::DFromV<decltype(bytes)> d;
  if constexpr (kOneRow) {
    hn::StoreU(bytes, d, reinterpret_cast<uint8_t*>(quants));
  } else {
    const auto words = hn::BitCast(hn::Full128<uint32_t>(), bytes);
    const auto store = [&](size_t place, uint32_t word) HWY_ATTR { std::memcpy(quants + 4 * place * static_cast<size_t>(rows), &word, 4); };
    store(0, hn::GetLane(words));
    store(1, hn::ExtractLane(words, 1));
    store(2, hn::ExtractLane(words, 2));
    store(3, hn::ExtractLane(words, 3));
  }
  const auto sums = hn::SumsOf8(hn::Xor(bytes, hn::Set(d, 0x80)));  // of quants + 128
  return static_cast<int32_t>(hn::GetLane(sums) + hn::ExtractLane(sums, 1)) - 128 * int32_t{kRun};
}
#endif

// kOneRow: `rows` is 1.
template <bool kOneRow>
HWY_INLINE void quantize(const float* x, int64_t n, const ActivationForm& form, int64_t rows, const SimdKernels::QuantizedRow& out) {
  auto [quants, scales, starts, sums] = out;
  const int64_t stride = kOneRow ? 1 : rows;
  int32_t start_sum = 0;    // Σ quants of the integer sum so far
  int32_t minimum_sum = 0;  // and of the minimum
  int64_t column = 0;
  while (column < n) {
    const int64_t blocks = std::min<int64_t>(4, (n - column) / form.columns);
    const BlockScales chunk = scales_of(x + column, form.columns, blocks);
    for (int64_t block = 0; block < blocks; ++block) {
      const float scale = chunk.scales[block];
      const float inverse = chunk.inverses[block];
      *std::exchange(scales, scales + stride) = scale;
      for (const int64_t end = column + form.columns; column < end;) {
        int8_t* run = quants + column * stride;
        int32_t sum = 0;
        if (!std::isnan(inverse)) [[likely]] {
          sum = quantize_run<kOneRow>(x + column, inverse, rows, run);
        } else {
          for (int64_t word = 0; word < kRun; word += 4) std::memset(run + word * stride, 0, 4);
        }
        column += kRun;
        start_sum += sum;
        minimum_sum += sum;
        if ((column & (form.sum_columns - 1)) == 0) {
          *std::exchange(starts, starts + stride) = form.start * std::exchange(start_sum, 0);
        }
        if (form.minimum_columns > 0 && (column & (form.minimum_columns - 1)) == 0) {
          *std::exchange(sums, sums + stride) = scale * static_cast<float>(std::exchange(minimum_sum, 0));
        }
      }
    }
  }
}

void quantize_row(const float* x, int64_t n, const ActivationForm& form, int64_t rows, const SimdKernels::QuantizedRow& out) {
  rows == 1 ? quantize<true>(x, n, form, rows, out) : quantize<false>(x, n, form, rows, out);
}

void fill_quantize(SimdKernels& kernels) { kernels.quantize_row = quantize_row; }

}  // namespace HWY_NAMESPACE
}  // namespace wick::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick::cpu {

void fill_quantize_kernels(SimdKernels& kernels) { WICK_CALL_FOR_SET(kernels.set, fill_quantize, kernels); }

}  // namespace wick::cpu
#endif
