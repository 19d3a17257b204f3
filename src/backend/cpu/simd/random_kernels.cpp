// Blocks of Philox 4x32-10, one block a lane, and uniform numbers from them (device/philox.h defines both).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/simd/random_kernels.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "backend/cpu/simd/select.h"
#include "backend/cpu/simd/simd_kernels.h"
#include "device/philox.h"

HWY_BEFORE_NAMESPACE();
namespace wick::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The emulated targets multiply and add in two roundings.
constexpr bool kNativeRandom = HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR;

void philox_scalar(uint64_t seed, uint64_t block, uint32_t* words, size_t blocks) {
  for (size_t i = 0; i < blocks; ++i) {
    const PhiloxBlock numbers = stream_block(seed, block + i);
    std::copy(numbers.begin(), numbers.end(), words + 4 * i);
  }
}

// A single lane has no wide products.
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
void philox_blocks(uint64_t seed, uint64_t block, uint32_t* words, size_t blocks) { philox_scalar(seed, block, words, blocks); }
#else
using Words = hn::ScalableTag<uint32_t>;
using WordVector = hn::Vec<Words>;

struct Product {
  WordVector high;
  WordVector low;
};

// Lane by lane, 32 · 32 → 64 bits.
HWY_INLINE Product multiply(WordVector x, WordVector factor) {
  const Words d;
  const hn::RepartitionToWide<Words> wide;
  const auto even = hn::MulEven(x, factor);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, x))), factor);
  return {hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even))),
          hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even))};
}

void philox_blocks(uint64_t seed, uint64_t block, uint32_t* words, size_t blocks) {
  const Words d;
  const size_t lanes = hn::Lanes(d);
  const auto factor0 = hn::Set(d, kPhiloxMultiplier0);
  const auto factor1 = hn::Set(d, kPhiloxMultiplier1);
  size_t i = 0;
  for (; i + lanes <= blocks; i += lanes) {
    const uint64_t first = block + i;
    const auto low = static_cast<uint32_t>(first);
    if (low > 0xffffffffU - lanes) {  // the counter's low half wraps around among these lanes
      philox_scalar(seed, first, words + 4 * i, lanes);
      continue;
    }
    auto c0 = hn::Iota(d, low);
    auto c1 = hn::Set(d, static_cast<uint32_t>(first >> 32));
    auto c2 = hn::Zero(d);
    auto c3 = hn::Zero(d);
    auto key0 = static_cast<uint32_t>(seed);
    auto key1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < kPhiloxRounds; ++round) {
      const Product product0 = multiply(c0, factor0);
      const Product product1 = multiply(c2, factor1);
      c0 = hn::Xor(hn::Xor(product1.high, c1), hn::Set(d, key0));
      c1 = product1.low;
      c2 = hn::Xor(hn::Xor(product0.high, c3), hn::Set(d, key1));
      c3 = product0.low;
      key0 += kPhiloxWeyl0;
      key1 += kPhiloxWeyl1;
    }
    hn::StoreInterleaved4(c0, c1, c2, c3, d, words + 4 * i);
  }
  philox_scalar(seed, block + i, words + 4 * i, blocks - i);
}
#endif

void uniform_f32(const uint32_t* words, int bits, float low, float span, float cap, float* out, size_t n) {
  const hn::ScalableTag<uint32_t> d;
  const hn::RebindToFloat<decltype(d)> df;
  const hn::RebindToSigned<decltype(d)> di;
  const float unit = std::ldexp(1.0F, -bits);
  size_t i = 0;
  for (; kNativeRandom && i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    const auto numbers = hn::ShiftRightSame(hn::LoadU(d, words + i), 32 - bits);
    const auto u = hn::Mul(hn::ConvertTo(df, hn::BitCast(di, numbers)), hn::Set(df, unit));
    hn::StoreU(hn::Min(hn::MulAdd(u, hn::Set(df, span), hn::Set(df, low)), hn::Set(df, cap)), df, out + i);
  }
  for (; i < n; ++i) out[i] = std::min(std::fma(static_cast<float>(words[i] >> (32 - bits)) * unit, span, low), cap);
}

void uniform_f64(const uint32_t* words, double low, double span, double cap, double* out, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const uint64_t number = (static_cast<uint64_t>(words[2 * i + 1]) << 32 | words[2 * i]) >> 11;
    out[i] = std::min(std::fma(static_cast<double>(static_cast<int64_t>(number)) * 0x1p-53, span, low), cap);
  }
}

void fill_random(SimdKernels& kernels) {
  kernels.philox = philox_blocks;
  kernels.uniform_f32 = uniform_f32;
  kernels.uniform_f64 = uniform_f64;
}

}  // namespace HWY_NAMESPACE
}  // namespace wick::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick::cpu {

void fill_random_kernels(SimdKernels& kernels) { WICK_CALL_FOR_SET(kernels.set, fill_random, kernels); }

}  // namespace wick::cpu
#endif
