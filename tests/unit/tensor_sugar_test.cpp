// What users of PyTorch and candle type first.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "unit/message_of.h"
#include "wick/base/error.h"
#include "wick/tensor.h"

namespace wick {
namespace {

using Floats = std::vector<float>;
using testing::HasSubstr;

TEST(Sugar, CompoundAssignmentIsOutOfPlace) {
  Tensor x = Tensor::of<float>({1, 2, 3});
  const Tensor before = x;
  x += 1;
  x *= x;
  x -= 1;
  x /= Tensor::of<float>({1, 2, 3});
  EXPECT_EQ(x.to_vector<float>(), (Floats{3, 4, 5}));
  EXPECT_EQ(before.to_vector<float>(), (Floats{1, 2, 3}));
  const Var weight = Var::of<float>({2});
  Tensor y = weight;
  y *= 3;  // tracked: its gradient is 3
  EXPECT_EQ(backward(y)[weight].to_vector<float>(), Floats{3});
}

TEST(Sugar, ComparisonsAreElementwise) {
  const Tensor x = Tensor::of<float>({0.25F, 0.5F, 0.75F});
  const Tensor y = Tensor::of<float>({1, 0, 0.75F});
  using Bytes = std::vector<uint8_t>;
  EXPECT_EQ((x > 0.5).to_vector<uint8_t>(), (Bytes{0, 0, 1}));
  EXPECT_EQ((x < 0.5).to_vector<uint8_t>(), (Bytes{1, 0, 0}));
  EXPECT_EQ((0.5 >= x).to_vector<uint8_t>(), (Bytes{1, 1, 0}));
  EXPECT_EQ((0.5 < x).to_vector<uint8_t>(), (Bytes{0, 0, 1}));
  EXPECT_EQ((x >= y).to_vector<uint8_t>(), (Bytes{0, 1, 1}));
  EXPECT_EQ((x <= y).to_vector<uint8_t>(), (Bytes{1, 0, 1}));
}

TEST(Sugar, ReductionsWithoutDimensionsAreOfAllElements) {
  const Tensor x = Tensor::of<float>({{1, 2}, {3, 6}});
  EXPECT_EQ(x.sum().item(), 12);
  EXPECT_EQ(x.mean().item(), 3);
  EXPECT_EQ(x.min().item(), 1);
  EXPECT_EQ(x.max().item(), 6);
  EXPECT_EQ(x.sum().rank(), 0);
}

TEST(Sugar, SoftmaxIsAMethodToo) {
  const Tensor x = Tensor::of<float>({{1, 2}, {3, 3}});
  EXPECT_EQ(x.softmax(-1).to_vector<float>(), softmax(x, -1).to_vector<float>());
  EXPECT_EQ(x.log_softmax(0).to_vector<float>(), log_softmax(x, 0).to_vector<float>());
}

TEST(Sugar, DtypeAndDeviceHaveDefaults) {
  for (const Tensor& x :
       {Tensor::zeros({2, 3}), Tensor::ones({2, 3}), Tensor::randn({2, 3}), Tensor::rand({2, 3}), Tensor::full({2, 3}, 7)}) {
    EXPECT_EQ(x.describe(), "Tensor[[2, 3], f32]");
  }
  EXPECT_EQ(Tensor::arange(0, 3).to_vector<float>(), (Floats{0, 1, 2}));
  EXPECT_EQ(Tensor::eye(2).to_vector<float>(), (Floats{1, 0, 0, 1}));
}

TEST(Sugar, ATensorWithoutElementsThrowsUntilItIsAssigned) {
  Tensor empty;
  EXPECT_FALSE(empty.defined());
  const auto message = [](std::string_view what) {
    return fmt::format("{} is empty: it was never assigned, or was moved from; assign another to it first", what);
  };
  expect_messages({{message("dtype: the tensor"), [&] { (void)empty.dtype(); }},
                   {message("device: the tensor"), [&] { (void)empty.device(); }},
                   {message("shape: the tensor"), [&] { (void)empty.shape(); }},
                   {message("elements: the tensor"), [&] { (void)empty.elements(); }},
                   {message("exp: the tensor"), [&] { (void)empty.exp(); }},
                   {message("add: lhs"), [&] { (void)(empty + empty); }},
                   {message("sum: the tensor"), [&] { (void)empty.sum(); }},
                   {message("transpose: the tensor"), [&] { (void)empty.t(); }},
                   {message("copy: the tensor"), [&] { (void)empty.copy(); }},
                   {message("to_vector: the tensor"), [&] { (void)empty.to_vector<float>(); }},
                   {message("to_string: tensor"), [&] { (void)to_string(empty); }},
                   {message("backward: root"), [&] { (void)backward(empty); }},
                   {message("const_set: the tensor"), [&] { empty.zero_set(); }},
                   {message("cat: tensor 0"), [&] { (void)Tensor::cat({empty}, 0); }},
                   {message("Var: tensor"), [&] { (void)Var::from_tensor(empty); }}});
  empty = Tensor::ones({2});
  EXPECT_TRUE(empty.defined());
  EXPECT_EQ(empty.sum().item(), 2);
}

TEST(Sugar, NothingIsTrackedInANoGradScope) {
  const Var x = Var::of<float>({2});
  {
    const NoGradScope outer;
    EXPECT_FALSE((x * x).is_tracked());
    { const NoGradScope inner; }
    EXPECT_FALSE(x->exp().is_tracked());
    EXPECT_TRUE(x->is_tracked());
  }
  EXPECT_TRUE((x * x).is_tracked());
}

TEST(GradStore, IndexingThrowsTheTensorsNameWhereNoGradientFlowed) {
  const Var x = Var::of<float>({1, 2});
  const Var other = Var::of<double>({{3}});
  const GradStore gradients = backward((x * x).sum());
  EXPECT_EQ(gradients[x].to_vector<float>(), (Floats{2, 4}));
  EXPECT_THAT(message_of([&] { (void)gradients[other]; }), HasSubstr("no gradient flowed to Tensor[[1, 1], f64]"));
  EXPECT_THAT(message_of([&] { (void)*gradients.get(other); }), HasSubstr("no gradient flowed to Tensor[[1, 1], f64]"));
  EXPECT_THAT(message_of([&] { (void)gradients.get(other)->item(); }), HasSubstr("no gradient flowed"));
  EXPECT_THAT(message_of([&] { (void)gradients[Tensor::ones({2})]; }), HasSubstr("not a Var"));
  EXPECT_FALSE(gradients.get(other));
  EXPECT_TRUE(gradients.get(x).has_value());
}

TEST(ErrorHook, SeesEachErrorBeforeItIsThrown) {
  std::vector<std::string> seen;
  set_error_hook([&](const Error& error) { seen.push_back(std::string(to_string(error.code())) + ": " + error.what()); });
  EXPECT_THROW((void)Tensor::ones({2, 3}).matmul(Tensor::ones({2, 3})), Error);
  set_error_hook({});
  EXPECT_THROW((void)Tensor::ones({2}).matmul(Tensor::ones({3})), Error);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_THAT(seen[0], HasSubstr("shape_mismatch: matmul"));
}

// What candle 0.11 prints by {:?}.
TEST(Display, DebugFormIsCandles) {
  EXPECT_EQ(to_debug_string(Tensor::zeros({2, 3})), "Tensor[dims 2, 3; f32]");
  EXPECT_EQ(to_debug_string(Tensor::of<float>({1, 2.5F, -0.1F})), "Tensor[1, 2.5, -0.1; f32]");
  EXPECT_EQ(to_debug_string(Tensor::full({}, 3, DType::f64)), "Tensor[3; f64]");
  EXPECT_EQ(to_debug_string(Tensor::arange(0, 9, DType::u32)), "Tensor[0, 1, 2, 3, 4, 5, 6, 7, 8; u32]");
  EXPECT_EQ(to_debug_string(Tensor::arange(0, 10, DType::u32)), "Tensor[dims 10; u32]");
  EXPECT_EQ(to_debug_string(Tensor::full({1}, 1e20, DType::f64)), "Tensor[100000000000000000000; f64]");
}

}  // namespace
}  // namespace wick
