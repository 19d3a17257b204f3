// Tensors of rank 8, the highest supported, and beyond.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <vector>

#include "unit/cpu_tensors.h"
#include "wick/base/error.h"
#include "wick/tensor/backward.h"
#include "wick/tensor/ops/normalize.h"
#include "wick/tensor/tensor.h"
#include "wick/tensor/variable.h"

namespace wick {
namespace {

const Shape kShape({2, 1, 3, 2, 1, 2, 3, 2});  // 144 elements

// What f gives on a contiguous tensor is what it gives on the same elements with their dimensions stored in reverse.
void expect_layout_is_no_matter(const std::function<Tensor(const Tensor&)>& f) {
  const Tensor plain = count(kShape, DType::f64);
  const Tensor reversed = plain.permute({7, 6, 5, 4, 3, 2, 1, 0}).copy().permute({7, 6, 5, 4, 3, 2, 1, 0});
  ASSERT_FALSE(reversed.is_contiguous());
  const Tensor expected = f(plain);
  const Tensor found = f(reversed);
  EXPECT_EQ(found.shape(), expected.shape());
  EXPECT_EQ(found.to_vector<double>(), expected.to_vector<double>());
}

TEST(RankEight, LayoutIsNoMatter) {
  expect_layout_is_no_matter([](const Tensor& t) { return t.sqr(); });
  expect_layout_is_no_matter([](const Tensor& t) { return t + t.narrow(2, 1, 1); });
  expect_layout_is_no_matter([](const Tensor& t) { return t.flip({0, 6}) - t; });
  expect_layout_is_no_matter([](const Tensor& t) { return t.sum({0, 3, 6}); });
  expect_layout_is_no_matter([](const Tensor& t) { return t.max_keepdim({2, 5}); });
  expect_layout_is_no_matter([](const Tensor& t) { return t.argmax(6).to_dtype(DType::f64); });
  expect_layout_is_no_matter([](const Tensor& t) { return Tensor::cat({t, t.narrow(5, 0, 1)}, 5); });
  expect_layout_is_no_matter([](const Tensor& t) { return t.matmul(t.transpose(6, 7)); });
  expect_layout_is_no_matter([](const Tensor& t) { return t.gt(50.0).where_cond(t, t.neg()); });
  expect_layout_is_no_matter([](const Tensor& t) { return t.to_dtype(DType::bf16).to_dtype(DType::f64); });
  expect_layout_is_no_matter([](const Tensor& t) { return t.reshape({-1}); });
  expect_layout_is_no_matter([](const Tensor& t) { return softmax(t * 0.01, 2); });
  expect_layout_is_no_matter([](const Tensor& t) { return t.index_select(Tensor::of<uint32_t>({2, 0}, kCpu), 6); });
}

TEST(RankEight, SumOfAllIsThatOfAnArithmeticSeries) { EXPECT_EQ(count(kShape, DType::f64).sum_all().item(), 143 * 144 / 2); }

TEST(RankEight, GradientsPassThrough) {
  const Var x = Var::from_tensor(count(kShape, DType::f64));
  const GradStore gradients = backward((x.tensor().permute({7, 0, 6, 1, 5, 2, 4, 3}) * 2.0).sum({1, 2}).sqr().sum_all());
  EXPECT_EQ(gradients.get(x)->shape(), kShape);
}

TEST(RankNine, IsRefusedByName) {
  const Tensor t = count(kShape, DType::f64);
  EXPECT_THROW((void)t.unsqueeze(0), Error);
  EXPECT_THROW((void)Tensor::stack({t, t}, 0), Error);
  EXPECT_THROW((void)t.unfold(2, 2, 1), Error);
  EXPECT_THROW((void)t.broadcast_left({2}), Error);
  EXPECT_THROW((void)Tensor::zeros(Shape(std::vector<int64_t>(9, 1)), DType::f32, kCpu), Error);
}

TEST(RankZero, BehavesAsOneElement) {
  const Tensor t = Tensor::of<double>(3, kCpu);
  EXPECT_EQ((t + t).item(), 6);
  EXPECT_EQ(t.sum_all().item(), 3);
  EXPECT_EQ(t.max_all().item(), 3);
  EXPECT_EQ(t.reshape({1, 1}).shape(), Shape({1, 1}));
  EXPECT_EQ(t.broadcast_to({2, 3}).sum_all().item(), 18);
  EXPECT_EQ(t.flatten_all().shape(), Shape({1}));
  EXPECT_THROW((void)t.sum(0), Error);
  EXPECT_THROW((void)t.transpose(0, 1), Error);
}

}  // namespace
}  // namespace wick
