// Conversions between f32 and the narrow storage formats, and the two simplest block formats.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "wick/backend/cpu/simd/convert_kernels.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <cstring>

#include "wick/backend/cpu/simd/select.h"
#include "wick/backend/cpu/simd/simd_kernels.h"
#include "wick/base/half.h"

HWY_BEFORE_NAMESPACE();
namespace wick::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Highway's emulated conversions know no infinity and no NaN of f16, and truncate on the way there.
constexpr bool kNativeHalves = HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR;

void f16_to_f32(const uint16_t* x, float* out, size_t n) {
  const hn::ScalableTag<float> df;
  const hn::Rebind<hwy::float16_t, decltype(df)> dh;
  const hn::Rebind<uint16_t, decltype(df)> du;
  size_t i = 0;
  for (; kNativeHalves && i + hn::Lanes(df) <= n; i += hn::Lanes(df)) {
    hn::StoreU(hn::PromoteTo(df, hn::BitCast(dh, hn::LoadU(du, x + i))), df, out + i);
  }
  for (; i < n; ++i) out[i] = f16_bits_to_float(x[i]);
}

void f32_to_f16(const float* x, uint16_t* out, size_t n) {
  const hn::ScalableTag<float> df;
  const hn::Rebind<hwy::float16_t, decltype(df)> dh;
  const hn::Rebind<uint16_t, decltype(df)> du;
  size_t i = 0;
  for (; kNativeHalves && i + hn::Lanes(df) <= n; i += hn::Lanes(df)) {
    hn::StoreU(hn::BitCast(du, hn::DemoteTo(dh, hn::LoadU(df, x + i))), du, out + i);
  }
  for (; i < n; ++i) out[i] = float_to_f16_bits(x[i]);
}

void bf16_to_f32(const uint16_t* x, float* out, size_t n) {
  const hn::ScalableTag<float> df;
  const hn::Rebind<uint16_t, decltype(df)> du;
  const hn::Rebind<uint32_t, decltype(df)> dw;
  size_t i = 0;
  for (; i + hn::Lanes(df) <= n; i += hn::Lanes(df)) {
    hn::StoreU(hn::BitCast(df, hn::ShiftLeft<16>(hn::PromoteTo(dw, hn::LoadU(du, x + i)))), df, out + i);
  }
  for (; i < n; ++i) out[i] = bf16_bits_to_float(x[i]);
}

void f32_to_bf16(const float* x, uint16_t* out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = float_to_bf16_bits(x[i]);
}

float block_scale(const std::byte* block) {
  uint16_t bits = 0;
  std::memcpy(&bits, block, sizeof(bits));
  return f16_bits_to_float(bits);
}

void q8_0_to_f32(const std::byte* blocks, float* out, size_t n) {
  const hn::CappedTag<float, 32> df;
  const hn::Rebind<int8_t, decltype(df)> d8;
  const hn::Rebind<int32_t, decltype(df)> d32;
  for (size_t block = 0; block < n / 32; ++block) {
    const std::byte* source = blocks + block * 34;
    const auto scale = hn::Set(df, block_scale(source));
    const auto* quants = reinterpret_cast<const int8_t*>(source + 2);
    for (size_t i = 0; i < 32; i += hn::Lanes(df)) {
      const auto values = hn::ConvertTo(df, hn::PromoteTo(d32, hn::LoadU(d8, quants + i)));
      hn::StoreU(hn::Mul(values, scale), df, out + block * 32 + i);
    }
  }
}

void f32_to_q8_0(const float* x, std::byte* blocks, size_t n) {
  const hn::CappedTag<float, 16> df;
  const hn::Rebind<int32_t, decltype(df)> di;
  const hn::Rebind<int8_t, decltype(df)> d8;
  const size_t lanes = hn::Lanes(df);
  for (size_t block = 0; block < n / 32; ++block) {
    const float* source = x + block * 32;
    std::byte* target = blocks + block * 34;
    auto largest = hn::Zero(df);
    // x − x is 0 for a number and NaN for NaN and Inf.
    auto poison = hn::Zero(df);
    for (size_t i = 0; i < 32; i += lanes) {
      const auto value = hn::LoadU(df, source + i);
      largest = hn::Max(largest, hn::Abs(value));
      poison = hn::Add(poison, hn::Sub(value, value));
    }
    const float bad = hn::GetLane(hn::SumOfLanes(df, poison));
    const float scale = bad == 0.0F ? hn::GetLane(hn::MaxOfLanes(df, largest)) / 127.0F : bad;
    const uint16_t bits = float_to_f16_bits(scale);
    std::memcpy(target, &bits, sizeof(bits));
    const auto inverse = hn::Set(df, bad == 0.0F && scale != 0.0F ? 1.0F / scale : 0.0F);
    auto* codes = reinterpret_cast<int8_t*>(target + 2);
    for (size_t i = 0; i < 32; i += lanes) {
      // Halves round away from zero. The inverse of a subnormal scale is Inf, and 0 · Inf a NaN: its code is 0, others stay in range.
      const auto value = bad == 0.0F ? hn::Mul(hn::LoadU(df, source + i), inverse) : hn::Zero(df);
      const auto clamped = hn::IfThenZeroElse(hn::IsNaN(value), hn::Max(hn::Min(value, hn::Set(df, 127.0F)), hn::Set(df, -127.0F)));
      const auto whole = hn::Trunc(clamped);
      const auto away = hn::CopySign(hn::Set(df, 1.0F), clamped);
      const auto rounded = hn::IfThenElse(hn::Ge(hn::Abs(hn::Sub(clamped, whole)), hn::Set(df, 0.5F)), hn::Add(whole, away), whole);
      hn::StoreU(hn::DemoteTo(d8, hn::ConvertTo(di, rounded)), d8, codes + i);
    }
  }
}

void q4_0_to_f32(const std::byte* blocks, float* out, size_t n) {
  const hn::CappedTag<float, 16> df;
  const hn::Rebind<uint8_t, decltype(df)> d8;
  const hn::Rebind<int32_t, decltype(df)> d32;
  for (size_t block = 0; block < n / 32; ++block) {
    const std::byte* source = blocks + block * 18;
    const auto scale = hn::Set(df, block_scale(source));
    const auto* quants = reinterpret_cast<const uint8_t*>(source + 2);
    for (size_t i = 0; i < 16; i += hn::Lanes(df)) {
      const auto bytes = hn::PromoteTo(d32, hn::LoadU(d8, quants + i));
      const auto low = hn::Sub(hn::And(bytes, hn::Set(d32, 15)), hn::Set(d32, 8));
      const auto high = hn::Sub(hn::ShiftRight<4>(bytes), hn::Set(d32, 8));
      hn::StoreU(hn::Mul(hn::ConvertTo(df, low), scale), df, out + block * 32 + i);
      hn::StoreU(hn::Mul(hn::ConvertTo(df, high), scale), df, out + block * 32 + 16 + i);
    }
  }
}

void fill_convert(SimdKernels& kernels) {
  kernels.f16_to_f32 = f16_to_f32;
  kernels.f32_to_f16 = f32_to_f16;
  kernels.bf16_to_f32 = bf16_to_f32;
  kernels.f32_to_bf16 = f32_to_bf16;
  kernels.q8_0_to_f32 = q8_0_to_f32;
  kernels.f32_to_q8_0 = f32_to_q8_0;
  kernels.q4_0_to_f32 = q4_0_to_f32;
}

}  // namespace HWY_NAMESPACE
}  // namespace wick::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick::cpu {

void fill_convert_kernels(SimdKernels& kernels) { WICK_CALL_FOR_SET(kernels.set, fill_convert, kernels); }

}  // namespace wick::cpu
#endif
