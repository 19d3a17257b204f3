// Activations rounded to 8 bits per block of 32: scale = largest magnitude / 127.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/simd/quantize_kernels.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "backend/cpu/simd/select.h"
#include "backend/cpu/simd/simd_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace wick::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void quantize_row(const float* x, int64_t n, const ActivationForm& form, int8_t* quants, float* scales, int32_t* starts, float* sums) {
  const hn::CappedTag<float, 16> df;
  const hn::Rebind<int32_t, decltype(df)> di;
  const hn::Rebind<int8_t, decltype(df)> d8;
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  for (int64_t block = 0; block < n / kActivationBlock; ++block) {
    const float* source = x + block * kActivationBlock;
    auto largest = hn::Zero(df);
    // x − x is 0 for a number and NaN for NaN and Inf: their sum poisons the scale, so that a bad activation is not hidden.
    auto poison = hn::Zero(df);
    for (int64_t i = 0; i < kActivationBlock; i += lanes) {
      const auto value = hn::LoadU(df, source + i);
      largest = hn::Max(largest, hn::Abs(value));
      poison = hn::Add(poison, hn::Sub(value, value));
    }
    const float bad = hn::GetLane(hn::SumOfLanes(df, poison));
    const float magnitude = bad == 0.0F ? hn::GetLane(hn::MaxOfLanes(df, largest)) : 0.0F;
    const float maximum = magnitude > 1e-30F ? magnitude : 0.0F;  // 127 / maximum must stay finite
    const float scale = maximum / 127.0F + bad;
    const auto inverse = hn::Set(df, maximum > 0.0F ? 127.0F / maximum : 0.0F);
    int32_t counts[2];  // Σ quants of each half
    for (int half = 0; half < 2; ++half) {
      auto sum = hn::Zero(di);
      for (int64_t i = half * 16; i < half * 16 + 16; i += lanes) {
        // A bad block has scale NaN; its quants are 0.
        const auto value = bad == 0.0F ? hn::Mul(hn::LoadU(df, source + i), inverse) : hn::Zero(df);
        const auto rounded = hn::NearestInt(value);
        sum = hn::Add(sum, rounded);
        hn::StoreU(hn::DemoteTo(d8, rounded), d8, quants + block * kActivationBlock + i);
      }
      counts[half] = hn::GetLane(hn::SumOfLanes(di, sum));
    }
    scales[block] = scale;
    if (!form.halves) counts[0] += counts[1];
    const int parts = form.halves ? 2 : 1;
    for (int part = 0; part < parts; ++part) {
      starts[block * parts + part] = form.start * counts[part];
      if (form.minimum) sums[block * parts + part] = scale * static_cast<float>(counts[part]);
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
