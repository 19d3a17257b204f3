// The machine's peaks: chains of one instruction, more of them than its latency takes to fill, and reads.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "wick/backend/cpu/simd/peak_kernels.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "wick/backend/cpu/simd/select.h"
#include "wick/backend/cpu/simd/simd_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace wick::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kChains = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON ? 24 : 12;

double f32_chains(int64_t count) {
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> sums[kChains];
#pragma GCC unroll 24
  for (int chain = 0; chain < kChains; ++chain) sums[chain] = hn::Set(d, static_cast<float>(chain));
  // Values that stay finite and that no compiler can foresee.
  const auto factor = hn::Set(d, 1.0F / static_cast<float>(count + 2));
  const auto term = hn::Set(d, 1.0F / static_cast<float>(count + 1));
  for (int64_t i = 0; i < count; ++i) {
#pragma GCC unroll 24
    for (int chain = 0; chain < kChains; ++chain) sums[chain] = hn::MulAdd(sums[chain], factor, term);
  }
  auto total = hn::Zero(d);
#pragma GCC unroll 24
  for (int chain = 0; chain < kChains; ++chain) total = hn::Add(total, sums[chain]);
  const auto operations = static_cast<double>(count) * kChains * static_cast<double>(hn::Lanes(d)) * 2;
  return hn::GetLane(hn::SumOfLanes(d, total)) < 0 ? 0 : operations;
}

// By loads of 32 bytes: on Zen 4 those of 64 bytes read 0.94 of what they do when the memory is at its best (55 and 59 GB/s by two threads,
// in turns).
uint64_t read_memory(const std::byte* data, size_t bytes, int64_t prefetch_distance) {
  const hn::CappedTag<uint64_t, 4> d;
  constexpr size_t kSums = 8;
  const size_t lanes = hn::Lanes(d);
  const auto* words = reinterpret_cast<const uint64_t*>(data);
  hn::Vec<decltype(d)> sums[kSums];
#pragma GCC unroll 8
  for (size_t sum = 0; sum < kSums; ++sum) sums[sum] = hn::Zero(d);
  for (size_t i = 0; i < bytes / sizeof(uint64_t); i += kSums * lanes) {
#pragma GCC unroll 8
    for (size_t sum = 0; sum < kSums; ++sum) {
      const uint64_t* part = words + i + sum * lanes;
      if (prefetch_distance > 0 && sum * lanes * sizeof(uint64_t) % 64 == 0)
        prefetch_line(reinterpret_cast<const std::byte*>(part) + prefetch_distance);
      sums[sum] = hn::Xor(sums[sum], hn::LoadU(d, part));
    }
  }
  auto total = hn::Zero(d);
#pragma GCC unroll 8
  for (size_t sum = 0; sum < kSums; ++sum) total = hn::Xor(total, sums[sum]);
  return hn::GetLane(hn::SumOfLanes(d, total));
}

void fill_peak(SimdKernels& kernels) {
  kernels.peaks.f32 = f32_chains;
  kernels.peaks.read = read_memory;
}

}  // namespace HWY_NAMESPACE
}  // namespace wick::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#if defined(__x86_64__)
#include <immintrin.h>

#include "wick/backend/cpu/simd/amx.h"
#endif

namespace wick::cpu {

#if defined(__x86_64__)
namespace {

// Two a cycle with a latency of five; more of them GCC 12 spills.
constexpr int kDotChains = 12;
constexpr int kLanes = 16;

__attribute__((target("avx512f,avx512vnni"))) double int8_chains(int64_t count) {
  __m512i sums[kDotChains];
#pragma GCC unroll 12
  for (int chain = 0; chain < kDotChains; ++chain) sums[chain] = _mm512_set1_epi32(chain);
  const __m512i left = _mm512_set1_epi32(static_cast<int>(count));
  const __m512i right = _mm512_set1_epi32(static_cast<int>(count + 1));
  for (int64_t i = 0; i < count; ++i) {
#pragma GCC unroll 12
    for (int chain = 0; chain < kDotChains; ++chain) sums[chain] = _mm512_dpbusd_epi32(sums[chain], left, right);
  }
  __m512i total = _mm512_setzero_si512();
#pragma GCC unroll 12
  for (int chain = 0; chain < kDotChains; ++chain) total = _mm512_xor_si512(total, sums[chain]);
  // Hardly ever true, but the sums must not be for nothing.
  return _mm512_reduce_add_epi32(total) == 0x5eed ? 0 : static_cast<double>(count) * kDotChains * kLanes * 4 * 2;
}

__attribute__((target("avx512f,avx512bf16"))) double bf16_chains(int64_t count) {
  __m512 sums[kDotChains];
#pragma GCC unroll 12
  for (int chain = 0; chain < kDotChains; ++chain) sums[chain] = _mm512_set1_ps(static_cast<float>(chain));
  // 1.0 and a number near it, twice each.
  const __m512i left_bits = _mm512_set1_epi32(0x3f803f80);
  const __m512i right_bits = _mm512_set1_epi32(0x3f803f80 + static_cast<int>(count & 7));
  const __m512bh left = reinterpret_cast<const __m512bh&>(left_bits);
  const __m512bh right = reinterpret_cast<const __m512bh&>(right_bits);
  for (int64_t i = 0; i < count; ++i) {
#pragma GCC unroll 12
    for (int chain = 0; chain < kDotChains; ++chain) sums[chain] = _mm512_dpbf16_ps(sums[chain], left, right);
  }
  __m512 total = _mm512_setzero_ps();
#pragma GCC unroll 12
  for (int chain = 0; chain < kDotChains; ++chain) total = _mm512_add_ps(total, sums[chain]);
  return _mm512_reduce_add_ps(total) < 0 ? 0 : static_cast<double>(count) * kDotChains * kLanes * 2 * 2;
}

// Products of two tiles each: registers 0 to 3 hold the sums, 4 to 7 zeros.
constexpr int kTileChains = 4;

__attribute__((target("amx-tile"))) void use_all_tiles() {
  amx::Shapes shapes;
  for (size_t tile = 0; tile < 8; ++tile) shapes.set(tile, amx::kRows);
  amx::use(shapes);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
}

// A chain's multiplications: each of 16 times 16 sums gets `depth` products.
constexpr double tile_operations(int64_t count, int depth) {
  return static_cast<double>(count) * kTileChains * amx::kRows * kLanes * depth * 2;
}

__attribute__((target("amx-tile,amx-int8"))) double int8_tiles(int64_t count) {
  use_all_tiles();
  for (int64_t i = 0; i < count; ++i) {
    _tile_dpbsud(0, 4, 6);
    _tile_dpbsud(1, 4, 7);
    _tile_dpbsud(2, 5, 6);
    _tile_dpbsud(3, 5, 7);
  }
  _tile_release();
  return tile_operations(count, 64);
}

__attribute__((target("amx-tile,amx-bf16"))) double bf16_tiles(int64_t count) {
  use_all_tiles();
  for (int64_t i = 0; i < count; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
  return tile_operations(count, 32);
}

}  // namespace
#endif

void fill_peak_kernels(SimdKernels& kernels) {
  WICK_CALL_FOR_SET(kernels.set, fill_peak, kernels);
#if defined(__x86_64__)
  if (!has_avx512_vnni(kernels.set)) return;
  kernels.peaks.int8 = int8_chains;
  if (__builtin_cpu_supports("avx512bf16")) kernels.peaks.bf16 = bf16_chains;
  if (kernels.set != InstructionSet::avx512_amx) return;
  kernels.peaks.int8 = int8_tiles;
  kernels.peaks.bf16 = bf16_tiles;
#endif
}

}  // namespace wick::cpu
#endif
