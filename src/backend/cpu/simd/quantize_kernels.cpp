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

void quantize_row(const float* x, int64_t n, int8_t* quants, float* scales, float* block_sums, float* half_sums) {
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
    float sums[2];
    for (int half = 0; half < 2; ++half) {
      auto sum = hn::Zero(di);
      for (int64_t i = half * 16; i < half * 16 + 16; i += lanes) {
        // A bad block has scale NaN; its quants are 0.
        const auto value = bad == 0.0F ? hn::Mul(hn::LoadU(df, source + i), inverse) : hn::Zero(df);
        const auto rounded = hn::NearestInt(value);
        sum = hn::Add(sum, rounded);
        hn::StoreU(hn::DemoteTo(d8, rounded), d8, quants + block * kActivationBlock + i);
      }
      sums[half] = static_cast<float>(hn::GetLane(hn::SumOfLanes(di, sum)));
    }
    scales[block] = scale;
    half_sums[2 * block] = scale * sums[0];
    half_sums[2 * block + 1] = scale * sums[1];
    block_sums[block] = scale * (sums[0] + sums[1]);
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
