#include "wick/nn/attention.h"

#include <gmock/gmock.h>

#include <limits>

#include "nn_values.h"
#include "wick/base/error.h"
#include "wick/tensor/backward.h"
#include "wick/tensor/variable.h"

namespace wick::nn {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

AttentionOptions options_of(const nlohmann::json& entry, DType dtype) {
  AttentionOptions options{.scale = entry.value("scale", 0.0),
                           .causal = entry.value("causal", false),
                           .window = entry.value("window", int64_t{0}),
                           .softcap = entry.value("softcap", 0.0)};
  if (entry.contains("slopes")) options.alibi_slopes = tensor_of(entry["slopes"], dtype);
  if (entry.contains("sink_values")) options.sinks = tensor_of(entry["sink_values"], dtype);
  if (entry.contains("mask_values")) options.mask = tensor_of(entry["mask_values"], entry["mask"] == "bool" ? DType::u8 : dtype);
  return options;
}

// Blocks of queries and the device's own attention where nothing is tracked, whole scores on the tape elsewhere.
TEST(Attention, EveryVariantAgreesWithPyTorchTrackedAndNot) {
  for (const nlohmann::json& entry : nn_values()["attention"]) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      const AttentionOptions options = options_of(entry, dtype);
      const double tolerance = dtype == DType::f32 ? 2e-6 : 1e-11;
      const Tensor q = tensor_of(entry["q"], dtype);
      const Tensor k = tensor_of(entry["k"], dtype);
      const Tensor v = tensor_of(entry["v"], dtype);
      expect_close(scaled_dot_product_attention(q, k, v, options), entry["out"], tolerance, "untracked");
      expect_close(scaled_dot_product_attention(Var::from_tensor(q), k, v, options), entry["out"], tolerance, "tracked");
    }
  }
}

TEST(Attention, GradientsReachEveryOperandAndTheSinks) {
  const nlohmann::json& entry = nn_values()["attention"][0];
  AttentionOptions options = options_of(entry, DType::f64);
  const Var q = Var::from_tensor(tensor_of(entry["q"]));
  const Var k = Var::from_tensor(tensor_of(entry["k"]));
  const Var v = Var::from_tensor(tensor_of(entry["v"]));
  const Var sinks = Var::from_tensor(*options.sinks);
  options.sinks = sinks.tensor();
  const auto loss = [&] { return scaled_dot_product_attention(q, k, v, options).sqr().sum_all(); };
  const GradStore gradients = backward(loss());
  // Against central differences in f64.
  constexpr double kStep = 1e-5;
  for (const Var* var : {&q, &k, &v, &sinks}) {
    const Tensor start = var->as_detached_tensor().copy();
    const std::vector<double> found = gradients.get(var->tensor())->to_vector<double>();
    for (size_t i = 0; i < found.size(); i += 7) {
      std::vector<double> values = start.to_vector<double>();
      const auto at = [&](double value) {
        values[i] = value;
        var->set(Tensor::from_vector(values, start.shape(), start.device()));
        return loss().item();
      };
      const double middle = values[i];
      EXPECT_NEAR((at(middle + kStep) - at(middle - kStep)) / (2 * kStep), found[i], 1e-7);
    }
    var->set(start);
  }
}

TEST(Attention, AQueryThatSeesNothingIsNaNWithoutASink) {
  const Tensor x = Tensor::ones({1, 1, 2, 4}, DType::f32, Device::cpu());
  AttentionOptions options{.mask = Tensor::of<uint8_t>({{1, 1}, {0, 0}}, Device::cpu())};
  const std::vector<float> rows = scaled_dot_product_attention(x, x, x, options).to_vector<float>();
  EXPECT_EQ(rows[0], 1);
  EXPECT_TRUE(std::isnan(rows[4]));
  options.sinks = Tensor::zeros({1}, DType::f32, Device::cpu());
  EXPECT_EQ(scaled_dot_product_attention(x, x, x, options).to_vector<float>()[4], 0);
}

TEST(Attention, HeadsThatAreNoMultipleOfTheKeysAreRefused) {
  const Tensor q = Tensor::zeros({1, 3, 2, 4}, DType::f32, Device::cpu());
  const Tensor k = Tensor::zeros({1, 2, 2, 4}, DType::f32, Device::cpu());
  EXPECT_THAT([&] { (void)scaled_dot_product_attention(q, k, k); }, ThrowsMessage<Error>(HasSubstr("heads a multiple of kv_heads")));
}

}  // namespace
}  // namespace wick::nn
