// Copies into caches of q8_0: the bytes of the reference quantizer, whatever the layout of the source.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "wick/base/error.h"
#include "wick/quant/block_format.h"
#include "wick/tensor/ops/copy.h"

namespace wick {
namespace {

TEST(CopyToQ80, GivesTheBytesOfTheReferenceQuantizer) {
  std::mt19937 generator(7);
  std::vector<float> values(64 * 96);
  for (size_t block = 0; block < values.size() / 32; ++block) {
    // Scales from subnormal to large, blocks of zeros, and values halfway between two codes.
    const float scale = block % 7 == 0 ? 0.0F : std::ldexp(1.0F, static_cast<int>(block % 61) - 45);
    for (size_t i = 0; i < 32; ++i) {
      const float code = static_cast<float>(static_cast<int>(generator() % 255) - 127) + (block % 3 == 0 ? 0.5F : 0.25F);
      values[block * 32 + i] = scale * (i == 0 ? 127.0F : std::clamp(code, -127.0F, 127.0F));
    }
  }
  std::vector<std::byte> want(values.size() / 32 * 34);
  find_block_format(DType::q8_0)->pack(values, want.data());
  for (const char* variant : {"", "avx2", "scalar"}) {
    Device device = Device::cpu();
    try {
      device = Device::open({DeviceKind::cpu, 0}, {.threads = 1, .variant = variant});
    } catch (const Error&) {
      continue;  // this machine has another
    }
    const Tensor source = Tensor::from_vector(values, {64, 96}, device);
    const Tensor target = Tensor::empty({64, 96}, DType::q8_0, device);
    copy(source, target);
    EXPECT_EQ(target.to_bytes(), want) << variant;
    // Tokens and heads change places on their way into a cache.
    const Tensor cache = Tensor::empty({4, 16, 96}, DType::q8_0, device);
    copy(source.reshape({16, 4, 96}).transpose(0, 1), cache);
    EXPECT_EQ(cache.to_dtype(DType::f32).to_vector<float>(),
              target.to_dtype(DType::f32).reshape({16, 4, 96}).transpose(0, 1).to_vector<float>());
  }
}

TEST(CopyToQ80, ABlockWithoutNumbersIsABlockOfNaNs) {
  const Device device = Device::cpu();
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> values(64, 1.0F);
    values[40] = bad;
    const Tensor target = Tensor::empty({64}, DType::q8_0, device);
    copy(Tensor::from_vector(values, {64}, device), target);
    const std::vector<float> got = target.to_dtype(DType::f32).to_vector<float>();
    for (size_t i = 0; i < 64; ++i) EXPECT_EQ(std::isnan(got[i]), i >= 32) << i;
  }
}

TEST(CopyToQ80, OtherQuantizedTargetsAreRefused) {
  const Device device = Device::cpu();
  EXPECT_THROW(copy(Tensor::zeros({32}, DType::f32, device), Tensor::empty({32}, DType::q4_0, device)), Error);
  EXPECT_THROW(copy(Tensor::zeros({32}, DType::f16, device), Tensor::empty({32}, DType::q8_0, device)), Error);
}

}  // namespace
}  // namespace wick
