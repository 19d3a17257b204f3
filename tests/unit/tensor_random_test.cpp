// Random tensors against numbers computed from the published definition of Philox in Python's integers and doubles, seed 42.
#include <gtest/gtest.h>

#include <cmath>

#include "wick/base/error.h"
#include "wick/tensor/tensor.h"

namespace wick {
namespace {

using Doubles = std::vector<double>;

Device device_with(int threads) { return Device::open({DeviceKind::cpu, 0}, {threads, ""}); }

// One draw of `count` uniforms in [0, 1) from the start of seed 42's stream.
Doubles drawn(const Device& device, DType dtype, int64_t count) {
  device.set_seed(42);
  return Tensor::rand(0, 1, {count}, dtype, device).to_vector<double>();
}

TEST(Random, UniformsAreTheUpperBitsOfTheStream) {
  const Device device = device_with(1);
  Doubles expected;
  for (const int64_t number : {10283760, 7861577, 1228624, 5718707, 16571169, 5487212}) expected.push_back(std::ldexp(number, -24));
  EXPECT_EQ(drawn(device, DType::f32, 6), expected);
  expected.clear();
  for (const int64_t number : {1255, 959, 149, 698, 2022, 669}) expected.push_back(std::ldexp(number, -11));
  EXPECT_EQ(drawn(device, DType::f16, 6), expected);
  expected.clear();
  for (const int64_t number : {156, 119, 18, 87, 252, 83}) expected.push_back(std::ldexp(number, -8));
  EXPECT_EQ(drawn(device, DType::bf16, 6), expected);
  expected.clear();
  for (const int64_t number : {4220652138765662, 3070207893592042, 2945925043428196}) expected.push_back(std::ldexp(number, -53));
  EXPECT_EQ(drawn(device, DType::f64, 3), expected);
}

TEST(Random, NormalsAreBoxAndMullersPairs) {
  const Device device = device_with(1);
  device.set_seed(42);
  const Doubles expected = {-0.9701897896896211, 0.1940189560319242, -1.235620741535049, 1.9239267500724069, -0.07318150799478833};
  const Doubles numbers = Tensor::randn(10, 2, {5}, DType::f32, device).to_vector<double>();
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(numbers[i], 10 + 2 * expected[i], 1e-6);
}

TEST(Random, NumbersDoNotDependOnThreadsAndDrawsFollowEachOther) {
  Doubles first;
  for (const int threads : {1, 3}) {
    const Device device = device_with(threads);
    device.set_seed(42);
    EXPECT_EQ(device.get_current_seed(), 42);
    const Tensor a = Tensor::rand(-1, 1, {100003}, DType::f32, device);
    const Tensor b = Tensor::randn(0, 1, {50001}, DType::f64, device);
    const Tensor c = Tensor::rand(0, 1, {5}, DType::f16, device);
    Doubles all = a.to_vector<double>();
    for (const Tensor& more : {b, c}) {
      const Doubles values = more.to_vector<double>();
      all.insert(all.end(), values.begin(), values.end());
    }
    if (first.empty()) first = all;
    EXPECT_EQ(all, first);
    // 100003 words are rounded up to 100004.
    device.set_seed(42);
    (void)Tensor::rand(0, 1, {100001}, DType::f32, device);
    EXPECT_EQ(Tensor::randn(0, 1, {50001}, DType::f64, device).to_vector<double>(), b.to_vector<double>());
  }
}

TEST(Random, UniformsStayInTheirRange) {
  const Device device = device_with(2);
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::f8e4m3}) {
    const Tensor x = Tensor::rand(1, 2, {100000}, dtype, device);
    EXPECT_GE(x.min_all().item(), 1);
    EXPECT_LT(x.max_all().item(), 2);
  }
  EXPECT_EQ(Tensor::rand(3, 3, {4}, DType::f32, device).to_vector<double>(), Doubles(4, 3));
}

TEST(Random, MomentsAreThoseAskedFor) {
  const Device device = device_with(2);
  constexpr int64_t kCount = 1000000;
  const Tensor uniform = Tensor::rand(-2, 4, {kCount}, DType::f64, device);
  EXPECT_NEAR(uniform.mean_all().item(), 1, 5 * std::sqrt(3.0 / kCount));
  EXPECT_NEAR(uniform.var(0).item(), 3, 0.02);
  const Tensor normal = Tensor::randn(5, 2, {kCount}, DType::f64, device);
  EXPECT_NEAR(normal.mean_all().item(), 5, 5 * 2 / std::sqrt(static_cast<double>(kCount)));
  EXPECT_NEAR(normal.var(0).item(), 4, 0.04);
  EXPECT_NEAR(normal.lt(3).to_dtype(DType::f64).mean_all().item(), 0.158655, 0.002);  // one deviation below the mean
}

TEST(Random, WhatCannotBeDrawnIsRefused) {
  const Device device = device_with(1);
  EXPECT_THROW((void)Tensor::rand(0, 1, {2}, DType::i64, device), Error);
  EXPECT_THROW((void)Tensor::rand(2, 1, {2}, DType::f32, device), Error);
  EXPECT_THROW((void)Tensor::rand(0, INFINITY, {2}, DType::f32, device), Error);
  EXPECT_THROW((void)Tensor::randn(NAN, 1, {2}, DType::f32, device), Error);
  EXPECT_EQ(Tensor::rand(0, 1, {0, 3}, DType::f32, device).elements(), 0);
}

}  // namespace
}  // namespace wick
