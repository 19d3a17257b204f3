// The tape: gradients of simple expressions against exact arithmetic.
#include <gtest/gtest.h>

#include "unit/cpu_tensors.h"
#include "wick/base/error.h"
#include "wick/tensor/backward.h"
#include "wick/tensor/ops/copy.h"
#include "wick/tensor/ops/fill.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/variable.h"

namespace wick {
namespace {

TEST(Autograd, SlopeOfAPolynomialIsExact) {
  const Var x = Var::of<double>({1, 2, -3}, kCpu);
  EXPECT_EQ(gradient_of((x * x * 3.0 + x).sum_all(), x), (std::vector<double>{7, 13, -17}));
}

TEST(Autograd, SecondOrderOfACubeIsSixX) {
  const Var x = Var::of<double>({1, 2, -3}, kCpu);
  const Tensor first = *backward((x * x * x).sum_all(), {.create_graph = true}).get(x);
  EXPECT_EQ(first.to_vector<double>(), (std::vector<double>{3, 12, 27}));
  EXPECT_EQ(gradient_of(first.sum_all(), x), (std::vector<double>{6, 12, -18}));
}

TEST(Autograd, BroadcastGradientsAreSummed) {
  const Var row = Var::of<float>({{1, 2, 3}}, kCpu);
  const Tensor column = Tensor::of<float>({{1}, {10}}, kCpu);
  EXPECT_EQ(gradient_of((row * column).sum_all(), row), (std::vector<double>{11, 11, 11}));
}

TEST(Autograd, ViewsPassGradientsBack) {
  const Var x = Var::of<float>({{1, 2, 3}, {4, 5, 6}}, kCpu);
  const Tensor weights = Tensor::of<float>({{1, 2}, {3, 4}}, kCpu);
  EXPECT_EQ(gradient_of((x->t().narrow(0, 1, 2).flip(0) * weights).sum_all(), x), (std::vector<double>{0, 3, 1, 0, 4, 2}));
  EXPECT_EQ(gradient_of(x->unfold(1, 2, 1).sum_all(), x), (std::vector<double>{1, 2, 1, 1, 2, 1}));
  EXPECT_EQ(gradient_of(x->stride_slice(1, 0, 2, 2).sum_all(), x), (std::vector<double>{1, 0, 1, 1, 0, 1}));
}

TEST(Autograd, AMillionOpsNeedNoStack) {
  const Var x = Var::of<double>(1, kCpu);
  Tensor y = x.tensor();
  for (int i = 0; i < 1000000; ++i) y = y.neg();
  EXPECT_EQ(gradient_of(y, x), (std::vector<double>{1}));
}

TEST(Autograd, WritingToASavedTensorIsFound) {
  const Var x = Var::of<double>({1, 2}, kCpu);
  const Tensor other = Tensor::of<double>({3, 4}, kCpu);
  const Tensor product = (x * other).sum_all();
  other.const_set(0);
  EXPECT_THROW((void)backward(product), Error);
  const Tensor sum = (x + other).sum_all();
  other.const_set(1);  // a sum needs no operand
  EXPECT_EQ(gradient_of(sum, x), (std::vector<double>{1, 1}));
}

TEST(Autograd, InPlaceWritesRefuseTrackedTensors) {
  const Var x = Var::of<double>({1, 2}, kCpu);
  EXPECT_THROW(fill(x, 1), Error);
  EXPECT_THROW(copy(x, Tensor::zeros({2}, DType::f64, kCpu)), Error);
  EXPECT_THROW((void)Var::from_tensor(Tensor::zeros({2}, DType::i64, kCpu)), Error);
}

TEST(Autograd, SettingAVariableKeepsItsPlaceInTheTape) {
  const Var x = Var::of<double>({1, 2}, kCpu);
  x.set(x->detach() * 2.0);
  EXPECT_EQ(x->to_vector<double>(), (std::vector<double>{2, 4}));
  EXPECT_EQ(gradient_of(x->sqr().sum_all(), x), (std::vector<double>{4, 8}));
  EXPECT_THROW(x.set(Tensor::zeros({3}, DType::f64, kCpu)), Error);
}

TEST(Autograd, LinearPassesGradientsToActivationsAndWeights) {
  const Var x = Var::of<float>({{1, 2}}, kCpu);
  const Var weight = Var::of<float>({{1, 0}, {3, -1}, {2, 2}}, kCpu);
  const Tensor y = linear(x, weight, {.precise = true}).sum_all();
  EXPECT_EQ(gradient_of(y, x), (std::vector<double>{6, 1}));
  EXPECT_EQ(gradient_of(y, weight), (std::vector<double>{1, 2, 1, 2, 1, 2}));
}

// Sums over nothing are zeros, and their gradients are too.
TEST(Autograd, EmptyExtentsStayOnTheTape) {
  const std::vector<std::array<Shape, 3>> cases = {{Shape{2, 0}, Shape{0, 3}, Shape{2, 3}},
                                                   {Shape{0, 2}, Shape{2, 3}, Shape{0, 3}},
                                                   {Shape{2, 3}, Shape{3, 0}, Shape{2, 0}},
                                                   {Shape{0, 2, 3}, Shape{0, 3, 4}, Shape{0, 2, 4}},
                                                   {Shape{2, 3, 0}, Shape{2, 0, 4}, Shape{2, 3, 4}}};
  for (const auto& [left, right, product] : cases) {
    const Var lhs = Var::zeros(left, DType::f32, kCpu);
    const Var rhs = Var::zeros(right, DType::f32, kCpu);
    const Tensor result = lhs->matmul(rhs);
    EXPECT_EQ(result.shape(), product);
    EXPECT_EQ(result.to_vector<float>(), std::vector<float>(static_cast<size_t>(product.elements())));
    const GradStore gradients = backward(result.sum_all());
    EXPECT_EQ(gradients.get(lhs)->to_vector<float>(), std::vector<float>(static_cast<size_t>(left.elements())));
    EXPECT_EQ(gradients.get(rhs)->shape(), right);
  }
}

TEST(Autograd, ReducingNoDimensionChangesNothing) {
  const Var x = Var::of<double>({1, 2}, kCpu);
  EXPECT_EQ(x->sum(Dims({})).to_vector<double>(), (std::vector<double>{1, 2}));
  EXPECT_EQ(x->log_sum_exp(Dims({})).to_vector<double>(), (std::vector<double>{1, 2}));
  EXPECT_EQ(gradient_of(x->max(Dims({})), x), (std::vector<double>{1, 1}));
}

}  // namespace
}  // namespace wick
