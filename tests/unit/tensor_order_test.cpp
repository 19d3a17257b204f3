// Running sums, sorting and topk: values worked out by hand, and the standard library's own sort.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "unit/cpu_tensors.h"
#include "wick/base/error.h"
#include "wick/tensor/backward.h"
#include "wick/tensor/variable.h"

namespace wick {
namespace {

using Doubles = std::vector<double>;
using Indices = std::vector<uint32_t>;

TEST(Cumsum, RunsAlongAnyDimension) {
  const Tensor x = Tensor::of<int32_t>({{1, 2, 3}, {4, 5, 6}}, kCpu);
  EXPECT_EQ(x.cumsum(0).to_vector<int32_t>(), (std::vector<int32_t>{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(x.cumsum(-1).to_vector<int32_t>(), (std::vector<int32_t>{1, 3, 6, 4, 9, 15}));
  EXPECT_TRUE(x.cumsum(0).is_contiguous());
  EXPECT_EQ(Tensor::of<uint8_t>({200, 100, 1}, kCpu).cumsum(0).to_vector<uint8_t>(), (std::vector<uint8_t>{200, 44, 45}));
}

// In f32 the sum would stop growing by whole tenths long before the end.
TEST(Cumsum, AMillionTenthsStayAccurate) {
  constexpr int64_t kCount = int64_t{1} << 20;
  for (const Shape& shape : {Shape{kCount}, Shape{kCount, 2}}) {
    const std::vector<float> sums = Tensor::full(shape, 0.1, DType::f32, kCpu).cumsum(0).to_vector<float>();
    const double exact = static_cast<double>(0.1F) * kCount;
    EXPECT_EQ(sums.back(), static_cast<float>(exact));
    EXPECT_EQ(sums[sums.size() / 2 - static_cast<size_t>(shape.elements() / kCount)], static_cast<float>(exact / 2));
  }
}

TEST(Cumsum, GradientSumsWhatComesAfter) {
  const Var x = Var::of<double>({1, 2, 3}, kCpu);
  const Tensor weights = Tensor::of<double>({1, 10, 100}, kCpu);
  EXPECT_EQ(gradient_of((x->cumsum(0) * weights).sum_all(), x), (Doubles{111, 110, 100}));
}

TEST(Sort, IsStableInBothDirections) {
  const Tensor x = Tensor::of<float>({{3, 1, 3, 2, 1}}, kCpu);
  EXPECT_EQ(x.arg_sort_last_dim(true).to_vector<uint32_t>(), (Indices{1, 4, 3, 0, 2}));
  EXPECT_EQ(x.arg_sort_last_dim(false).to_vector<uint32_t>(), (Indices{0, 2, 3, 1, 4}));
  EXPECT_EQ(x.sort_last_dim(false).first.to_vector<float>(), (std::vector<float>{3, 3, 2, 1, 1}));
}

TEST(Sort, NotANumberIsLargestAndZerosAreEqual) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const Tensor x = Tensor::of<double>({0.0, kNaN, -0.0, kInfinity, -kInfinity, -kNaN, -1, 0.0}, kCpu).to_dtype(dtype);
    EXPECT_EQ(x.arg_sort_last_dim(true).to_vector<uint32_t>(), (Indices{4, 6, 0, 2, 7, 3, 1, 5}));
    EXPECT_EQ(x.arg_sort_last_dim(false).to_vector<uint32_t>(), (Indices{1, 5, 3, 0, 2, 7, 6, 4}));
    EXPECT_TRUE(std::signbit(x.sort_last_dim(true).first.to_vector<double>()[3]));
  }
}

// Every length around the changes of algorithm, on one thread and on three.
TEST(Sort, AgreesWithTheStandardLibrary) {
  for (const int threads : {1, 3}) {
    const Device device = Device::open({DeviceKind::cpu, 0}, {threads, ""});
    for (const int64_t length : {1, 2, 1023, 1024, 1025, 65535, 65536, 100003}) {
      std::vector<int64_t> values(static_cast<size_t>(length));
      uint64_t state = 1;
      for (int64_t& value : values) value = static_cast<int64_t>((state = state * 6364136223846793005ULL + 1442695040888963407ULL)) >> 20;
      Indices order(values.size());
      std::iota(order.begin(), order.end(), 0U);
      std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return values[a] % 1000 < values[b] % 1000; });
      std::vector<int64_t> ties = values;
      for (int64_t& value : ties) value %= 1000;
      EXPECT_EQ(Tensor::from_vector(ties, {length}, device).arg_sort_last_dim(true).to_vector<uint32_t>(), order) << length;
      const auto [sorted, indices] = Tensor::from_vector(values, {length}, device).sort_last_dim(true);
      std::sort(values.begin(), values.end());
      EXPECT_EQ(sorted.to_vector<int64_t>(), values) << length;
    }
  }
}

TEST(Sort, GradientFollowsTheElements) {
  const Var x = Var::of<double>({{3, 1, 2}}, kCpu);
  const Tensor weights = Tensor::of<double>({{1, 10, 100}}, kCpu);
  EXPECT_EQ(gradient_of((x->sort_last_dim(true).first * weights).sum_all(), x), (Doubles{100, 1, 10}));
  EXPECT_FALSE(x->arg_sort_last_dim(true).is_tracked());
}

TEST(Topk, GivesTheFirstFewAlongAnyDimension) {
  const Tensor x = Tensor::of<float>({{1, 9}, {7, 3}, {7, 5}}, kCpu);
  const auto [values, indices] = x.topk(2, 0);
  EXPECT_EQ(values.to_vector<float>(), (std::vector<float>{7, 9, 7, 5}));
  EXPECT_EQ(indices.to_vector<uint32_t>(), (Indices{1, 0, 2, 2}));
  EXPECT_EQ(x.topk(1, -1, false).first.to_vector<float>(), (std::vector<float>{1, 3, 5}));
  EXPECT_EQ(x.topk(0).first.shape(), (Shape{3, 0}));
  EXPECT_THROW((void)x.topk(3, 1), Error);
  std::vector<int32_t> many(10000);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<int32_t>(i * 7919 % 10007);
  const auto [first, places] = Tensor::from_vector(many, {10000}, kCpu).topk(50);
  std::sort(many.begin(), many.end(), std::greater<>());
  many.resize(50);
  EXPECT_EQ(first.to_vector<int32_t>(), many);
}

}  // namespace
}  // namespace wick
