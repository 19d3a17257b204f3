// Activations rounded to 8 bits per block: scale = largest magnitude / 127.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/simd/quantize_kernels.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <cstring>
#include <utility>

#include "backend/cpu/simd/select.h"
#include "backend/cpu/simd/simd_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace wick::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void quantize_row(const float* x, int64_t n, const ActivationForm& form, int64_t rows, int8_t* quants, float* scales, int32_t* starts,
                  float* sums) {
  const hn::CappedTag<float, 16> df;
  const hn::Rebind<int32_t, decltype(df)> di;
  const hn::Rebind<int8_t, decltype(df)> d8;
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  constexpr int64_t kRun = 16;  // the least columns of an integer sum
  int32_t start_count = 0;      // Σ quants of the integer sum so far
  int32_t minimum_count = 0;    // and of the minimum
  for (int64_t first = 0; first < n; first += form.columns) {
    auto largest = hn::Zero(df);
    // x − x is 0 for a number and NaN for NaN and Inf: their sum poisons the scale, so that a bad activation is not hidden.
    auto poison = hn::Zero(df);
    for (int64_t i = first; i < first + form.columns; i += lanes) {
      const auto value = hn::LoadU(df, x + i);
      largest = hn::Max(largest, hn::Abs(value));
      poison = hn::Add(poison, hn::Sub(value, value));
    }
    const float bad = hn::GetLane(hn::SumOfLanes(df, poison));
    const float magnitude = bad == 0.0F ? hn::GetLane(hn::MaxOfLanes(df, largest)) : 0.0F;
    const float maximum = magnitude > 1e-30F ? magnitude : 0.0F;  // 127 / maximum must stay finite
    const float scale = maximum / 127.0F + bad;
    const auto inverse = hn::Set(df, maximum > 0.0F ? 127.0F / maximum : 0.0F);
    *std::exchange(scales, scales + rows) = scale;
    for (int64_t run = first; run < first + form.columns; run += kRun) {
      int8_t run_quants[kRun];
      auto sum = hn::Zero(di);
      for (int64_t i = run; i < run + kRun; i += lanes) {
        // A bad block has scale NaN; its quants are 0.
        const auto value = bad == 0.0F ? hn::Mul(hn::LoadU(df, x + i), inverse) : hn::Zero(df);
        const auto rounded = hn::NearestInt(value);
        sum = hn::Add(sum, rounded);
        hn::StoreU(hn::DemoteTo(d8, rounded), d8, run_quants + (i - run));
      }
      for (int64_t word = 0; word < kRun; word += 4) std::memcpy(quants + (run + word) * rows, run_quants + word, 4);
      const int32_t count = hn::GetLane(hn::SumOfLanes(di, sum));
      start_count += count;
      minimum_count += count;
      if ((run + kRun) % form.sum_columns == 0) *std::exchange(starts, starts + rows) = form.start * std::exchange(start_count, 0);
      if (form.minimum_columns > 0 && (run + kRun) % form.minimum_columns == 0)
        *std::exchange(sums, sums + rows) = scale * static_cast<float>(std::exchange(minimum_count, 0));
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
