#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "unit/cpu_tensors.h"
#include "unit/message_of.h"
#include "wick/base/error.h"
#include "wick/op/op.h"
#include "wick/tensor/backward.h"
#include "wick/tensor/ops/attention.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/ops/op_rule.h"
#include "wick/tensor/tape.h"
#include "wick/tensor/variable.h"

namespace wick {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Tape, ChainOfAMillionOpsNeedsNoStack) {
  // Were backward or the destruction of the tape recursive, a million frames would overflow any stack.
  constexpr int kOps = 1'000'000;
  const Var x = Var::of<double>({1.0}, kCpu);
  Tensor y = x.tensor();
  for (int i = 0; i < kOps; ++i) y = y.affine(1, 1);
  EXPECT_EQ(y.item(), 1 + kOps);
  const GradStore gradients = backward(y);
  EXPECT_THAT(gradients.get(x)->to_vector<double>(), ElementsAre(1));
  y = x.tensor();  // the tape goes
}

TEST(Tape, LadderOfSharedOperandsIsWalkedOnce) {
  // 2^60 paths lead from y to x; a walk along paths instead of nodes would not end.
  const Var x = Var::of<double>({1.0}, kCpu);
  Tensor y = x.tensor();
  for (int i = 0; i < 60; ++i) y = y + y;
  EXPECT_THAT(backward(y).get(x)->to_vector<double>(), ElementsAre(0x1p60));
}

TEST(Tape, MayBeDestroyedAfterTheThreadsOwnObjects) {
  // At the program's end objects of static storage go after those of the thread; a sanitizer sees what touches the dead.
  static Tensor forever = Tensor::ones({1}, DType::f32, kCpu);
  forever = Var::ones({1}, DType::f32, kCpu).tensor().sqr().sqr().sqr();
  EXPECT_TRUE(forever.is_tracked());
}

TEST(Tape, SavedTensorWrittenInPlaceRaises) {
  const Var x = Var::of<float>({1, 2, 3}, kCpu);
  const Tensor y = x.tensor().sqr();
  x.set(Tensor::of<float>({4, 5, 6}, kCpu));
  EXPECT_THAT(message_of([&] { (void)backward(y); }), HasSubstr("written to"));
}

TEST(Tape, SavedConstantWrittenInPlaceRaises) {
  const Var x = Var::of<float>({1, 2, 3}, kCpu);
  const Tensor factor = Tensor::of<float>({2, 2, 2}, kCpu).copy();
  const Tensor y = x.tensor() * factor;
  factor.const_set(7);
  EXPECT_THAT(message_of([&] { (void)backward(y); }), HasSubstr("written to"));
}

TEST(Tape, SavedTensorWrittenThroughAViewRaises) {
  const Var x = Var::of<float>({1, 2, 3}, kCpu);
  const Tensor factor = Tensor::of<float>({{2, 2, 2}, {3, 3, 3}}, kCpu).copy();
  const Tensor y = x.tensor() * factor.get(0);
  factor.narrow(1, 0, 1).const_set(7);
  EXPECT_THAT(message_of([&] { (void)backward(y); }), HasSubstr("written to"));
}

TEST(Tape, SavedOutputWrittenInPlaceRaises) {
  const Var x = Var::of<float>({1, 2, 3}, kCpu);
  const Tensor y = x.tensor().exp();  // its gradient reads its result
  y.detach().const_set(0);
  EXPECT_THAT(message_of([&] { (void)backward(y); }), HasSubstr("written to"));
}

TEST(Tape, GradientThatReadsNothingMayBeWrittenTo) {
  const Var x = Var::of<float>({1, 2, 3}, kCpu);
  const Tensor other = Tensor::of<float>({2, 2, 2}, kCpu).copy();
  const Tensor y = x.tensor() + other;
  other.const_set(7);
  EXPECT_THAT(backward(y).get(x)->to_vector<float>(), ElementsAre(1, 1, 1));
}

TEST(Tape, WritingAfterBackwardIsAllowed) {
  const Var x = Var::of<float>({3}, kCpu);
  for (int step = 0; step < 3; ++step) {
    const Tensor gradient = *backward(x.tensor().sqr()).get(x);
    x.set(x.as_detached_tensor() - gradient * 0.25);
  }
  EXPECT_THAT(x->to_vector<float>(), ElementsAre(0.375F));  // x (1 - 2 · 0.25)³
}

TEST(Tape, OpWithoutGradientRefusesATrackedTensor) {
  const Tensor weight = Tensor::ones({4, 8}, DType::f32, kCpu);
  const Var x = Var::ones({2, 8}, DType::f32, kCpu);
  if (rule(OpId::linear).gradient_kind == GradientKind::missing) {
    EXPECT_THAT(message_of([&] { (void)linear(x, weight, {}); }), HasSubstr("no gradient"));
  }
}

TEST(Tape, InPlaceWriteIntoATrackedTensorIsRefused) {
  const Var x = Var::ones({3}, DType::f32, kCpu);
  const Tensor y = x.tensor().sqr();
  EXPECT_THROW(y.const_set(0), Error);
  EXPECT_THROW(x->const_set(0), Error);
}

TEST(Tape, DetachedTensorsAreConstants) {
  const Var x = Var::of<float>({1, 2, 3}, kCpu);
  const Tensor y = x.tensor() * x.tensor().detach();
  EXPECT_THAT(backward(y).get(x)->to_vector<float>(), ElementsAre(1, 2, 3));
}

TEST(Tape, BackwardOfAnUntrackedTensorRaises) {
  EXPECT_THROW((void)backward(Tensor::ones({}, DType::f32, kCpu)), Error);
  const Var x = Var::ones({3}, DType::f32, kCpu);
  EXPECT_THROW((void)backward(x.tensor().detach()), Error);
}

TEST(Tape, ComparisonsAreNotTracked) {
  const Var x = Var::of<float>({1, 2, 3}, kCpu);
  EXPECT_FALSE(x.tensor().gt(2.0).is_tracked());
  EXPECT_FALSE(x.tensor().argmax(0).is_tracked());
}

TEST(Tape, VariablesAreFloats) { EXPECT_THROW((void)Var::from_tensor(Tensor::ones({3}, DType::i64, kCpu)), Error); }

TEST(Tape, VariableIsACopyInMemoryOfItsOwn) {
  const Tensor source = Tensor::of<float>({{1, 2}, {3, 4}}, kCpu).copy();
  const Var x = Var::from_tensor(source.t());
  source.const_set(9);
  EXPECT_THAT(x->to_vector<float>(), ElementsAre(1, 3, 2, 4));
  EXPECT_TRUE(x->is_contiguous());
}

TEST(Tape, GradientsOfGradientsOfGradients) {
  const Var x = Var::of<double>({1.5, -2.0}, kCpu);
  const BackwardOptions graph{.create_graph = true};
  Tensor y = x.tensor().powf(4);
  y = *backward(y, graph).get(x);  // 4 x³
  y = *backward(y, graph).get(x);  // 12 x²
  y = *backward(y, graph).get(x);  // 24 x
  EXPECT_THAT(y.to_vector<double>(), ElementsAre(36, -48));
  EXPECT_THAT(backward(y).get(x)->to_vector<double>(), ElementsAre(24, 24));
}

TEST(Tape, GradientsAreNotTrackedUnlessAskedFor) {
  const Var x = Var::of<double>({1.5}, kCpu);
  EXPECT_FALSE(backward(x.tensor().sqr()).get(x)->is_tracked());
  EXPECT_TRUE(backward(x.tensor().sqr(), {.create_graph = true}).get(x)->is_tracked());
}

TEST(Tape, TensorsOfNoElementsHaveGradients) {
  const Var a = Var::zeros({2, 0}, DType::f32, kCpu);
  const Var b = Var::zeros({0, 3}, DType::f32, kCpu);
  const GradStore gradients = backward(a.tensor().matmul(b).sum_all());
  ASSERT_TRUE(gradients.get(a) && gradients.get(b));
  EXPECT_EQ(gradients.get(a)->shape(), Shape({2, 0}));
  EXPECT_EQ(gradients.get(b)->shape(), Shape({0, 3}));
}

TEST(Tape, ResultsOfNoElementsAreTracked) {
  const Var weight = Var::ones({4, 8}, DType::f32, kCpu);
  const Tensor none = Tensor::zeros({0, 8}, DType::f32, kCpu);
  const Tensor nothing = Tensor::zeros({2, 0}, DType::f32, kCpu);
  const Var empty = Var::zeros({4, 0}, DType::f32, kCpu);
  EXPECT_EQ(backward(linear(none, weight, {})).get(weight)->to_vector<float>(), std::vector<float>(32));
  EXPECT_EQ(backward(linear(nothing, empty, {})).get(empty)->shape(), Shape({4, 0}));
  EXPECT_EQ(backward(none.matmul(weight.tensor().t())).get(weight)->to_vector<float>(), std::vector<float>(32));
  EXPECT_EQ(backward(empty.tensor().sum(1)).get(empty)->shape(), Shape({4, 0}));
}

TEST(Tape, SameTensorTwiceGathersBothGradients) {
  const Var x = Var::of<float>({3, 1, -4}, kCpu);
  EXPECT_THAT(backward(x.tensor().minimum(x.tensor())).get(x)->to_vector<float>(), ElementsAre(1, 1, 1));
  EXPECT_THAT(backward(x.tensor().maximum(x.tensor())).get(x)->to_vector<float>(), ElementsAre(1, 1, 1));
  EXPECT_THAT(backward(x.tensor() - x.tensor()).get(x)->to_vector<float>(), ElementsAre(0, 0, 0));
}

TEST(Tape, UpstreamGradientIsTheCallers) {
  const Var x = Var::of<float>({1, 2, 3}, kCpu);
  const GradStore gradients = backward(x.tensor().sqr(), {.gradient = Tensor::of<float>({1, 0, -1}, kCpu)});
  EXPECT_THAT(gradients.get(x)->to_vector<float>(), ElementsAre(2, 0, -6));
}

TEST(Tape, OnlyVariablesHaveGradientsUnlessAskedFor) {
  const Var x = Var::of<float>({2}, kCpu);
  const Tensor y = x.tensor().sqr();
  const Tensor z = y * 3.0;
  EXPECT_FALSE(backward(z).get(y).has_value());
  EXPECT_THAT(backward(z, {.keep_intermediates = true}).get(y)->to_vector<float>(), ElementsAre(3));
}

}  // namespace
}  // namespace wick
