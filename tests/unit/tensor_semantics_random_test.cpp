// Facts about random numbers; their exact bits are in tests/goldens.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "unit/cpu_tensors.h"
#include "wick/tensor/tensor.h"

namespace wick {
namespace {

constexpr DType kFloats[] = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::f8e4m3};

TEST(Draws, SameSeedGivesTheSameNumbers) {
  for (const DType dtype : kFloats) {
    kCpu.set_seed(42);
    const Tensor uniform = Tensor::rand(-1, 1, {1001}, dtype, kCpu);
    const Tensor normal = Tensor::randn(0, 1, {1001}, dtype, kCpu);
    kCpu.set_seed(42);
    EXPECT_EQ(Tensor::rand(-1, 1, {1001}, dtype, kCpu).to_bytes(), uniform.to_bytes());
    EXPECT_EQ(Tensor::randn(0, 1, {1001}, dtype, kCpu).to_bytes(), normal.to_bytes());
    EXPECT_NE(Tensor::rand(-1, 1, {1001}, dtype, kCpu).to_bytes(), uniform.to_bytes());
    kCpu.set_seed(43);
    EXPECT_NE(Tensor::rand(-1, 1, {1001}, dtype, kCpu).to_bytes(), uniform.to_bytes());
  }
}

TEST(Draws, SeedCanBeAskedFor) {
  kCpu.set_seed(0xdeadbeefcafe);
  EXPECT_EQ(kCpu.get_current_seed(), 0xdeadbeefcafeU);
}

TEST(Draws, ShortDrawIsTheBeginningOfALongOne) {
  kCpu.set_seed(7);
  const Tensor few = Tensor::rand(0, 1, {10}, DType::f32, kCpu);
  kCpu.set_seed(7);
  const Tensor many = Tensor::rand(0, 1, {100, 1000}, DType::f32, kCpu);  // enough for several threads
  EXPECT_EQ(many.flatten_all().narrow(0, 0, 10).to_bytes(), few.to_bytes());
}

TEST(Draws, NoElementOfAShortDrawIsFixed) {
  kCpu.set_seed(3);
  for (int64_t place = 0; place < 2; ++place) {
    double least = 2;
    double most = -2;
    for (int draw = 0; draw < 100; ++draw) {
      const double value = Tensor::rand(0, 1, {2}, DType::f32, kCpu).get(place).item();
      least = std::min(least, value);
      most = std::max(most, value);
    }
    EXPECT_LT(least, 0.2);
    EXPECT_GT(most, 0.8);
  }
  EXPECT_LT(Tensor::randn(0, 1, {200}, DType::f32, kCpu).min_all().item(), 0);
}

}  // namespace
}  // namespace wick
