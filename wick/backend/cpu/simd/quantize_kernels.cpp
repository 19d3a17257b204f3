// Activations rounded to 8 bits per block: scale = largest magnitude / 127.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "wick/backend/cpu/simd/quantize_kernels.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "wick/backend/cpu/simd/select.h"
#include "wick/backend/cpu/simd/simd_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace wick::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void quantize_row(const float* x, int64_t n, const ActivationForm& form, int64_t rows, const SimdKernels::QuantizedRow& out) {
  auto [quants, scales, starts, sums] = out;
  const hn::CappedTag<float, 16> df;
  const hn::Rebind<int32_t, decltype(df)> di;
  const hn::Rebind<int8_t, decltype(df)> d8;
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  constexpr int64_t kRun = 16;  // the least columns of an integer sum
  constexpr int32_t kInfinityBits = 0x7f800000;
  const int64_t sum_mask = form.sum_columns - 1;
  const int64_t minimum_mask = form.minimum_columns - 1;
  auto start_sums = hn::Zero(di);    // Σ quants of the integer sum so far
  auto minimum_sums = hn::Zero(di);  // and of the minimum
  for (int64_t first = 0; first < n; first += form.columns) {
    // Bits of magnitudes are in the order of the magnitudes, those of Inf and NaN above all others.
    auto largest = hn::Zero(di);
    for (int64_t i = first; i < first + form.columns; i += lanes)
      largest = hn::Max(largest, hn::BitCast(di, hn::Abs(hn::LoadU(df, x + i))));
    const int32_t bits = hn::GetLane(hn::MaxOfLanes(di, largest));
    const auto magnitude = std::bit_cast<float>(bits);
    // A NaN or Inf poisons the scale, so that a bad activation is not hidden.
    const bool bad = bits >= kInfinityBits;
    const float maximum = !bad && magnitude > 1e-30F ? magnitude : 0.0F;  // 127 / maximum must stay finite
    const float scale = bad ? std::numeric_limits<float>::quiet_NaN() : maximum / 127.0F;
    const auto inverse = hn::Set(df, maximum > 0.0F ? 127.0F / maximum : 0.0F);
    *std::exchange(scales, scales + rows) = scale;
    for (int64_t run = first; run < first + form.columns; run += kRun) {
      int8_t run_quants[kRun];
      for (int64_t i = run; i < run + kRun; i += lanes) {
        // A bad block has scale NaN; its quants are 0.
        const auto value = bad ? hn::Zero(df) : hn::Mul(hn::LoadU(df, x + i), inverse);
        const auto rounded = hn::NearestInt(value);
        start_sums = hn::Add(start_sums, rounded);
        minimum_sums = hn::Add(minimum_sums, rounded);
        hn::StoreU(hn::DemoteTo(d8, rounded), d8, run_quants + (i - run));
      }
      for (int64_t word = 0; word < kRun; word += 4) std::memcpy(quants + (run + word) * rows, run_quants + word, 4);
      if (((run + kRun) & sum_mask) == 0) {
        *std::exchange(starts, starts + rows) = form.start * hn::GetLane(hn::SumOfLanes(di, start_sums));
        start_sums = hn::Zero(di);
      }
      if (form.minimum_columns > 0 && ((run + kRun) & minimum_mask) == 0) {
        *std::exchange(sums, sums + rows) = scale * static_cast<float>(hn::GetLane(hn::SumOfLanes(di, minimum_sums)));
        minimum_sums = hn::Zero(di);
      }
    }
  }
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
