// linear's activations, fusions, views and experts: against numbers computed elsewhere, and each refusal.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "wick/base/error.h"
#include "wick/tensor/backward.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/ops/normalize.h"
#include "wick/tensor/variable.h"

namespace wick {
namespace {

Tensor numbers(const std::vector<float>& values, const Shape& shape) { return Tensor::from_vector(values, shape, Device::cpu()); }

Tensor ramp(const Shape& shape, float step) {
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = step * static_cast<float>(static_cast<int>(i * 7 % 23) - 11);
  return numbers(values, shape);
}

Tensor q8_0(const Shape& shape) {
  std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes(DType::q8_0, shape.elements())));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i % 34 == 0 ? 0 : i % 34 == 1 ? 0x2c : i * 37 % 251);
  return Tensor::from_bytes(bytes, shape, DType::q8_0, Device::cpu());
}

void expect_near(const Tensor& got, const Tensor& expected, float tolerance) {
  ASSERT_EQ(got.shape(), expected.shape());
  const auto a = got.reshape({-1}).to_vector<float>(), b = expected.reshape({-1}).to_vector<float>();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance * (1 + std::fabs(b[i]))) << i;
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

// Values of Python's math module; those of swiglu_oai by the formula of transformers' gpt-oss.
TEST(Linear, ActivationsOfAPairHaveTheirFormulas) {
  const std::vector<float> gate = {-3, -0.5F, 0.25F, 2, 9}, up = {1.5F, -2, 8, -9, 0.5F};
  const std::array<std::vector<double>, kGateKindCount> expected = {{
      {-0.21341642929905053, 0.3775406687981454, 1.1243530017715961, -15.854347403601881, 4.499444724408062},
      {-0.0054560881226594915, 0.3085719803497121, 1.19740280561348, -17.591379246789973, 4.5},
      {-0.006074541142335431, 0.3085375387259869, 1.1974126513658474, -17.590497624932773, 4.5},
      {0, 0, 0.5, -36, 40.5},
      {-0.04517827426946493, 0.1496115633936199, 1.2095971992015535, -11.61395173886525, 10.499929692454977},
  }};
  for (const auto& row : kGateKinds) {
    // One column of ones, whose products are the weights.
    const Tensor x = numbers({1}, {1, 1}), g = numbers(gate, {5, 1}), u = numbers(up, {5, 1});
    const auto fused = gated_linear(x, g, u, {.precise = true, .gate = row.kind}).reshape({5}).to_vector<float>();
    const auto parts = apply_gate(row.kind, g, u).reshape({5}).to_vector<float>();
    for (size_t i = 0; i < gate.size(); ++i) {
      const double value = expected[static_cast<size_t>(row.kind)][i];
      EXPECT_NEAR(fused[i], value, 2e-6 * (0.1 + std::fabs(value))) << row.name << i;
      EXPECT_NEAR(parts[i], value, 2e-6 * (0.1 + std::fabs(value))) << row.name << i;
    }
  }
}

TEST(Linear, FusionIsThePlainOpsOneAfterTheOther) {
  const Tensor x = ramp({3, 40}, 0.1F), weight = ramp({9, 40}, 0.05F), norm = ramp({40}, 0.2F), bias = ramp({9}, 1),
               residual = ramp({3, 9}, 2);
  const Tensor expected = linear(rms_norm(x, norm, 1e-3F), weight) + bias + residual;
  LinearFusion fusion{.norm = &norm, .epsilon = 1e-3F, .residual = &residual};
  fusion.biases[0] = &bias;
  expect_near(linear(x, weight, {}, fusion), expected, 1e-5F);
  // Also where the vectors are parts of others.
  const Tensor many = Tensor::cat({ramp({3}, 4), bias}, 0).narrow(0, 3, 9);
  fusion.biases[0] = &many;
  expect_near(linear(x, weight, {}, fusion), expected, 1e-5F);
}

TEST(Linear, OneBiasOfTwoIsAddedToItsOwnProducts) {
  const Tensor x = ramp({2, 16}, 0.1F), a = ramp({3, 16}, 0.3F), b = ramp({4, 16}, 0.2F), bias = ramp({4}, 1);
  const std::array<const Tensor*, 2> weights{&a, &b};
  LinearFusion fusion;
  fusion.biases[1] = &bias;
  const std::vector<Tensor> results = linear(x, weights, {}, fusion);
  expect_near(results[0], linear(x, a), 1e-6F);
  expect_near(results[1], linear(x, b) + bias, 1e-6F);
}

TEST(Linear, RefusesAFusionThatDoesNotFit) {
  const Tensor x = ramp({2, 16}, 1), weight = ramp({3, 16}, 1), four = ramp({4}, 1), narrow = ramp({16}, 1).to_dtype(DType::f16);
  LinearFusion fusion;
  fusion.biases[0] = &four;
  const std::string words = refusal([&] { (void)linear(x, weight, {}, fusion); });
  EXPECT_NE(words.find("linear: the bias"), std::string::npos) << words;
  EXPECT_NE(words.find("must be [3]"), std::string::npos) << words;
  fusion = {.norm = &narrow};
  EXPECT_NE(refusal([&] { (void)linear(x, weight, {}, fusion); }).find("must be f32"), std::string::npos);
  fusion = {};
  fusion.residual = &x;
  const std::array<const Tensor*, 2> weights{&weight, &weight};
  EXPECT_NE(refusal([&] { (void)linear(x, weights, {}, fusion); }).find("it goes with one"), std::string::npos);
}

TEST(Linear, ARangeOfRowsOfAQuantizedWeightIsThoseRows) {
  const Tensor x = ramp({2, 64}, 0.1F), weight = q8_0({40, 64}), all = linear(x, weight, {.precise = true});
  expect_near(linear(x, weight.narrow(0, 5, 20), {.precise = true}), all.narrow(1, 5, 20), 1e-6F);
}

TEST(Linear, RefusesPartsOfRows) {
  const Tensor weight = q8_0({40, 64}), x = ramp({1, 32}, 1);
  EXPECT_NE(refusal([&] { (void)linear(x, weight.narrow(1, 32, 32)); }), "none");
}

TEST(Linear, ExpertsMultiplyTheRowsThatNameThem) {
  const Tensor x = ramp({4, 24}, 0.1F), weight = ramp({3, 5, 24}, 0.2F), bias = ramp({3, 5}, 1);
  const std::vector<int32_t> chosen = {2, 0, 1, 1, 0, 2, 2, 2};
  const Tensor ids = Tensor::from_vector(chosen, {4, 2}, Device::cpu());
  const Tensor y = linear_experts(x, weight, ids, {.precise = true}, &bias);
  const Tensor g = gated_linear_experts(x, weight, weight, ids, {.precise = true, .gate = GateKind::gelu}, &bias, &bias);
  for (int64_t pair = 0; pair < 8; ++pair) {
    const int64_t expert = chosen[static_cast<size_t>(pair)];
    const Tensor row = linear(x.narrow(0, pair / 2, 1), weight.get(expert), {.precise = true}) + bias.get(expert);
    expect_near(y.reshape({8, 5}).narrow(0, pair, 1), row, 1e-5F);
    expect_near(g.reshape({8, 5}).narrow(0, pair, 1), apply_gate(GateKind::gelu, row, row), 1e-5F);
  }
}

TEST(Linear, ExpertsRefuseAnIdThatIsNone) {
  const Tensor x = ramp({1, 24}, 1), weight = ramp({3, 5, 24}, 1);
  const Tensor ids = Tensor::from_vector(std::vector<int32_t>{1, 3}, {1, 2}, Device::cpu());
  EXPECT_NE(refusal([&] { (void)linear_experts(x, weight, ids); }).find("id 3 at [0, 1] is out of range"), std::string::npos);
}

TEST(Linear, ExpertsHaveTheGradientOfTheirParts) {
  const Var x = Var::from_tensor(ramp({2, 6}, 0.1F)), weight = Var::from_tensor(ramp({3, 4, 6}, 0.2F));
  const Tensor ids = Tensor::from_vector(std::vector<int32_t>{2, 0, 0, 1}, {2, 2}, Device::cpu());
  const GradStore gradients = backward(linear_experts(x.tensor(), weight.tensor(), ids).sum_all());
  const Tensor ones = Tensor::ones({1, 4}, DType::f32, Device::cpu()), w = weight.as_detached_tensor();
  expect_near(gradients[x].narrow(0, 0, 1), ones.matmul(w.get(2)) + ones.matmul(w.get(0)), 1e-5F);
  expect_near(gradients[weight].get(1), ones.t().matmul(x.as_detached_tensor().narrow(0, 1, 1)), 1e-5F);
}

}  // namespace
}  // namespace wick
