#include "wick/tensor/ops/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace wick {
namespace {

TEST(Attention, ATokenSeesNothingOfTheLaterOnes) {
  constexpr int64_t kTokens = 70;
  constexpr int64_t kHeads = 4;
  constexpr int64_t kWidth = 16;
  const Device device = Device::cpu();
  const Tensor query = Tensor::full({kTokens, kHeads, kWidth}, 0.5, DType::f32, device);
  const Tensor key = Tensor::full({2, kTokens, kWidth}, 0.25, DType::f32, device);
  std::vector<float> values(2 * kTokens * kWidth, 1.0F);
  for (const size_t bad : {size_t{40}, size_t{69}}) {
    for (size_t head = 0; head < 2; ++head) values[(head * kTokens + bad) * kWidth] = std::numeric_limits<float>::infinity();
  }
  const Tensor value = Tensor::from_vector(values, {2, kTokens, kWidth}, device);
  const std::vector<float> result = attention(query, key, value, {0.25F, 0}).to_vector<float>();
  for (int64_t token = 0; token < kTokens; ++token) {
    const float first = result[static_cast<size_t>(token * kHeads * kWidth)];
    EXPECT_EQ(std::isfinite(first), token < 40) << "token " << token;
    EXPECT_FLOAT_EQ(result[static_cast<size_t>(token * kHeads * kWidth + 1)], 1.0F);
  }
}

}  // namespace
}  // namespace wick
