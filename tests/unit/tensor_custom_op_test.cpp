// Custom ops: forwards, gradients, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "unit/cpu_tensors.h"
#include "unit/message_of.h"
#include "wick/tensor/backward.h"
#include "wick/tensor/custom_op.h"
#include "wick/tensor/variable.h"

namespace wick {
namespace {

using Doubles = std::vector<double>;

// Walks the layout, so that it takes any view.
template <class F>
Tensor mapped(const CustomOperand& x, F f) {
  Tensor result = Tensor::empty(x.shape(), x.dtype(), x.device());
  auto* out = CustomOperand{*result.storage(), result.layout()}.data<double>();
  const double* in = x.data<const double>() - x.layout.offset();
  for_each_offset(x.layout, [&](int64_t offset) { *out++ = f(in[offset]); });
  return result;
}

class Cube : public CustomOp1 {
 public:
  [[nodiscard]] std::string_view name() const override { return "cube"; }
  Tensor cpu_forward(const CustomOperand& x) const override {
    return mapped(x, [](double value) { return value * value * value; });
  }
  [[nodiscard]] std::optional<Tensor> backward(const Tensor& x, const Tensor& /*result*/, const Tensor& gradient) const override {
    return gradient * x.sqr() * 3.0;
  }
};

class Untaught : public CustomOp1 {
 public:
  [[nodiscard]] std::string_view name() const override { return "untaught"; }
};

class Halve : public CustomOp1 {
 public:
  [[nodiscard]] std::string_view name() const override { return "halve"; }
  Tensor cpu_forward(const CustomOperand& x) const override {
    return mapped(x, [](double value) { return value / 2; });
  }
};

class Hypotenuse : public CustomOp2 {
 public:
  [[nodiscard]] std::string_view name() const override { return "hypotenuse"; }
  Tensor cpu_forward(const CustomOperand& a, const CustomOperand& b) const override {
    Doubles result;
    for (size_t i = 0; i < a.elements<double>().size(); ++i) result.push_back(std::hypot(a.elements<double>()[i], b.elements<double>()[i]));
    return Tensor::from_vector(result, a.shape(), a.device());
  }
  [[nodiscard]] Gradients backward(const Tensor& a, const Tensor& b, const Tensor& result, const Tensor& gradient) const override {
    return {gradient * a / result, gradient * b / result};
  }
};

class Choose : public CustomOp3 {
 public:
  [[nodiscard]] std::string_view name() const override { return "choose"; }
  Tensor cpu_forward(const CustomOperand& condition, const CustomOperand& a, const CustomOperand& b) const override {
    Doubles result;
    for (size_t i = 0; i < a.elements<double>().size(); ++i)
      result.push_back(condition.elements<const uint8_t>()[i] != 0 ? a.elements<double>()[i] : b.elements<double>()[i]);
    return Tensor::from_vector(result, a.shape(), a.device());
  }
  [[nodiscard]] Gradients backward(const Tensor& condition, const Tensor& /*a*/, const Tensor& /*b*/, const Tensor& /*result*/,
                                   const Tensor& gradient) const override {
    const Tensor zeros = gradient.zeros_like();
    return {std::nullopt, condition.where_cond(gradient, zeros), condition.where_cond(zeros, gradient)};
  }
};

class AddOnes : public InplaceOp1 {
 public:
  [[nodiscard]] std::string_view name() const override { return "add_ones"; }
  void cpu_forward(const CustomOperand& x) const override {
    double* data = x.data<double>() - x.layout.offset();
    for_each_offset(x.layout, [&](int64_t offset) { data[offset] += 1; });
  }
};

class AddTo : public InplaceOp2 {
 public:
  [[nodiscard]] std::string_view name() const override { return "add_to"; }
  void cpu_forward(const CustomOperand& x, const CustomOperand& y) const override {
    for (size_t i = 0; i < x.elements<double>().size(); ++i) x.elements<double>()[i] += y.elements<const double>()[i];
  }
};

class AddProduct : public InplaceOp3 {
 public:
  [[nodiscard]] std::string_view name() const override { return "add_product"; }
  void cpu_forward(const CustomOperand& x, const CustomOperand& y, const CustomOperand& z) const override {
    for (size_t i = 0; i < x.elements<double>().size(); ++i)
      x.elements<double>()[i] += y.elements<const double>()[i] * z.elements<const double>()[i];
  }
};

TEST(CustomOp, OneOperandOfAnyViewWithGradientsOfGradients) {
  const Var x = Var::of<double>({{1, 2}, {3, -4}}, kCpu);
  const Tensor y = x->t().apply_op1(Cube());
  EXPECT_EQ(y.to_vector<double>(), (Doubles{1, 27, 8, -64}));
  const Tensor first = *backward(y.sum_all(), {.create_graph = true}).get(x);
  EXPECT_EQ(first.to_vector<double>(), (Doubles{3, 12, 27, 48}));
  EXPECT_EQ(backward(first.sum_all()).get(x)->to_vector<double>(), (Doubles{6, 12, 18, -24}));
  EXPECT_FALSE(x->apply_op1_no_backward(Cube()).is_tracked());
}

TEST(CustomOp, SeveralOperandsHaveAGradientEach) {
  const Var a = Var::of<double>({3, 5}, kCpu);
  const Var b = Var::of<double>({4, 12}, kCpu);
  const Tensor c = a->apply_op2(b, Hypotenuse());
  EXPECT_EQ(c.to_vector<double>(), (Doubles{5, 13}));
  const GradStore gradients = backward(c.sum_all());
  EXPECT_EQ(gradients.get(a)->to_vector<double>(), (Doubles{3.0 / 5, 5.0 / 13}));
  EXPECT_EQ(gradients.get(b)->to_vector<double>(), (Doubles{4.0 / 5, 12.0 / 13}));
  const Tensor chosen = Tensor::of<uint8_t>({1, 0}, kCpu).apply_op3(a, b, Choose());
  EXPECT_EQ(chosen.to_vector<double>(), (Doubles{3, 12}));
  EXPECT_EQ(backward(chosen.sum_all()).get(b)->to_vector<double>(), (Doubles{0, 1}));
}

TEST(CustomOp, WhatIsMissingIsNamed) {
  const Tensor x = Tensor::of<double>({1, 2}, kCpu);
  EXPECT_EQ(message_of([&] { (void)x.apply_op1(Untaught()); }), "untaught: no cpu implementation");
  const Tensor planned = Tensor::zeros({2}, DType::f64, Device::open({DeviceKind::null, 0}));
  EXPECT_EQ(message_of([&] { (void)planned.apply_op1(Cube()); }), "cube: no null implementation");
  EXPECT_EQ(message_of([&] { (void)x.apply_op2(planned, Hypotenuse()); }),
            "hypotenuse: operands on cpu and null; move them to one device first");
  const Var variable = Var::from_tensor(x);
  const Tensor halves = variable->apply_op1(Halve());
  EXPECT_EQ(halves.to_vector<double>(), (Doubles{0.5, 1}));
  EXPECT_THAT(message_of([&] { (void)backward(halves.sum_all()); }), testing::StartsWith("halve: no gradient"));
  EXPECT_THAT(message_of([&] { (void)Tensor::of<float>({1}, kCpu).apply_op1(Cube()); }), testing::HasSubstr("f32, not f64"));
  EXPECT_THAT(message_of([&] { (void)Tensor::of<double>({{1, 2}, {3, 4}}, kCpu).t().apply_op2(x, Hypotenuse()); }),
              testing::HasSubstr("not row-major"));
}

TEST(InplaceOp, WritesThroughAViewAndIsSeenByTheTape) {
  const Tensor x = Tensor::of<double>({{1, 2}, {3, 4}}, kCpu);
  x.narrow(1, 1, 1).inplace_op1(AddOnes());
  EXPECT_EQ(x.to_vector<double>(), (Doubles{1, 3, 3, 5}));
  x.inplace_op2(x.copy(), AddTo());
  EXPECT_EQ(x.to_vector<double>(), (Doubles{2, 6, 6, 10}));
  x.inplace_op3(Tensor::ones({2, 2}, DType::f64, kCpu), x.copy(), AddProduct());
  EXPECT_EQ(x.to_vector<double>(), (Doubles{4, 12, 12, 20}));
  const Var variable = Var::from_tensor(x);
  EXPECT_THAT(message_of([&] { variable->inplace_op1(AddOnes()); }), testing::StartsWith("add_ones: "));
  EXPECT_THAT(message_of([&] { x.inplace_op2(variable, AddTo()); }), testing::StartsWith("add_to: "));
  const Tensor product = (variable.tensor() * x).sum_all();
  x.inplace_op1(AddOnes());
  EXPECT_THAT(message_of([&] { (void)backward(product); }), testing::HasSubstr("written to"));
}

}  // namespace
}  // namespace wick
