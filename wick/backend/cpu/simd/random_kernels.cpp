// Blocks of Philox 4x32-10, one block a lane, and uniform numbers from them (op/philox.h defines both).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "wick/backend/cpu/simd/random_kernels.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "wick/backend/cpu/simd/select.h"
#include "wick/backend/cpu/simd/simd_kernels.h"
#include "wick/op/philox.h"

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
// Four words of a block each in the lower half of a 64-bit lane: products and shifts then need no lane to move, and what is left in the
// upper halves takes no part in the next product.
struct BlockLanes {
  using Tag = hn::ScalableTag<uint64_t>;
  hn::Vec<Tag> c0, c1, c2, c3;

  HWY_INLINE explicit BlockLanes(uint64_t first)
      : c0(hn::Iota(Tag(), first)), c1(hn::Set(Tag(), first >> 32)), c2(hn::Zero(Tag())), c3(hn::Zero(Tag())) {}

  HWY_INLINE void round(hn::Vec<Tag> key0, hn::Vec<Tag> key1) {
    const hn::Repartition<uint32_t, Tag> halves;
    const auto product0 = hn::MulEven(hn::BitCast(halves, c0), hn::Set(halves, kPhiloxMultiplier0));
    const auto product1 = hn::MulEven(hn::BitCast(halves, c2), hn::Set(halves, kPhiloxMultiplier1));
    c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(product1), c1), key0);
    c1 = product1;
    c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(product0), c3), key1);
    c3 = product0;
  }

  HWY_INLINE void store(uint32_t* words) const {
    const Tag d;
    const auto lower = hn::Set(d, uint64_t{0xffffffff});
    const auto first = hn::Or(hn::And(c0, lower), hn::ShiftLeft<32>(c1));
    const auto second = hn::Or(hn::And(c2, lower), hn::ShiftLeft<32>(c3));
    hn::StoreInterleaved2(first, second, d, reinterpret_cast<uint64_t*>(words));
  }
};

void philox_blocks(uint64_t seed, uint64_t block, uint32_t* words, size_t blocks) {
  const BlockLanes::Tag d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + 2 * lanes <= blocks; i += 2 * lanes) {
    // The counter's upper half is one number for all lanes.
    if (static_cast<uint32_t>(block + i) > 0xffffffffU - 2 * lanes) {
      philox_scalar(seed, block + i, words + 4 * i, 2 * lanes);
      continue;
    }
    BlockLanes left(block + i);
    BlockLanes right(block + i + lanes);
    auto key0 = static_cast<uint32_t>(seed);
    auto key1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < kPhiloxRounds; ++round) {
      const auto keys0 = hn::Set(d, uint64_t{key0});
      const auto keys1 = hn::Set(d, uint64_t{key1});
      left.round(keys0, keys1);
      right.round(keys0, keys1);
      key0 += kPhiloxWeyl0;
      key1 += kPhiloxWeyl1;
    }
    left.store(words + 4 * i);
    right.store(words + 4 * (i + lanes));
  }
  philox_scalar(seed, block + i, words + 4 * i, blocks - i);
}
#endif

void uniform_f32(const uint32_t* words, int bits, const SimdKernels::Uniform<float>& range, float* out, size_t n) {
  const auto [low, span, cap] = range;
  const hn::ScalableTag<uint32_t> d;
  const hn::RebindToFloat<decltype(d)> df;
  const hn::RebindToSigned<decltype(d)> di;
  const float unit = std::ldexp(1.0F, -bits);
  const size_t lanes = hn::Lanes(d);  // NOLINT(clang-analyzer-deadcode.DeadStores): not on every target
  size_t i = 0;
  for (; kNativeRandom && i + lanes <= n; i += lanes) {
    const auto numbers = hn::ShiftRightSame(hn::LoadU(d, words + i), 32 - bits);
    const auto u = hn::Mul(hn::ConvertTo(df, hn::BitCast(di, numbers)), hn::Set(df, unit));
    hn::StoreU(hn::Min(hn::MulAdd(u, hn::Set(df, span), hn::Set(df, low)), hn::Set(df, cap)), df, out + i);
  }
  for (; i < n; ++i) out[i] = std::min(std::fma(static_cast<float>(words[i] >> (32 - bits)) * unit, span, low), cap);
}

void uniform_f64(const uint32_t* words, const SimdKernels::Uniform<double>& range, double* out, size_t n) {
  const auto [low, span, cap] = range;
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
