#include <gmock/gmock.h>

#include "nn_values.h"
#include "wick/base/error.h"
#include "wick/nn/activation.h"
#include "wick/nn/convolution.h"
#include "wick/nn/dropout.h"
#include "wick/nn/embedding.h"
#include "wick/nn/encoding.h"
#include "wick/nn/linear.h"
#include "wick/nn/normalization.h"
#include "wick/nn/pixels.h"
#include "wick/nn/prelu.h"
#include "wick/nn/rotary.h"
#include "wick/nn/sampling.h"
#include "wick/nn/sequential.h"
#include "wick/tensor/backward.h"

namespace wick::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

Device cpu() { return Device::cpu(); }

TEST(Activation, EveryKindAgreesWithPyTorch) {
  const nlohmann::json& values = nn_values()["activations"];
  const Tensor x = tensor_of(values["x"]);
  for (const auto& [name, expected] : values["y"].items()) {
    if (name == "selu") {
      expect_close(selu(x), expected, 1e-12, name);
    } else if (name == "swiglu") {
      expect_close(Activation::parse(name).forward(x.narrow(0, 0, 64).reshape({32, 2})).flatten_all(), expected, 1e-12, name);
    } else {
      expect_close(Activation::parse(name).forward(x), expected, 1e-12, name);
    }
  }
}

TEST(Activation, NamesOfConfigurationsLeadBackToThemselves) {
  for (const char* name : {"gelu", "gelu_new", "relu", "relu2", "relu6", "silu", "sigmoid", "hard_sigmoid", "swiglu", "swish", "mish",
                           "hard_swish", "elu", "leaky_relu", "gelu_pytorch_tanh"})
    EXPECT_EQ(Activation::parse(name).name(), name);
  EXPECT_THAT([] { (void)Activation::parse("sillu"); }, ThrowsMessage<Error>(HasSubstr("no activation 'sillu'; allowed: gelu, ")));
}

TEST(Linear, AnyBatchDimensionsAgreeWithPyTorch) {
  const nlohmann::json& values = nn_values()["layers"]["linear"];
  const Linear layer(tensor_of(values["weight"]), tensor_of(values["bias"]));
  const Tensor x = tensor_of(values["x"]);
  expect_close(layer.forward(x), values["y"], 1e-12);
  EXPECT_EQ(layer.forward(x.get(0)).to_vector<double>(), layer.forward(x).get(0).to_vector<double>());
  EXPECT_EQ(layer.forward(x.get(0).get(1)).shape(), (Shape{4}));
  EXPECT_EQ(layer.forward(Tensor::zeros({0, 3}, DType::f64, cpu())).shape(), (Shape{0, 4}));
}

TEST(Linear, WrongColumnsNameBoth) {
  const Linear layer(Tensor::zeros({4, 3}, DType::f32, cpu()));
  EXPECT_THAT([&] { (void)layer.forward(Tensor::zeros({2, 5}, DType::f32, cpu())); },
              ThrowsMessage<Error>(HasSubstr("x Tensor[[2, 5], f32] must be [..., 3] for the weight Tensor[[4, 3], f32]")));
}

TEST(Embedding, KeepsTheIdsShapeAndTheTablesDtype) {
  const Embedding layer(Tensor::of<double>({{0, 1}, {10, 11}, {20, 21}}, cpu()));
  const Tensor rows = layer.forward(Tensor::of<uint32_t>({{2, 0}, {1, 1}}, cpu()));
  EXPECT_EQ(rows.shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(rows.dtype(), DType::f64);
  EXPECT_THAT(rows.to_vector<double>(), ElementsAre(20, 21, 0, 1, 10, 11, 10, 11));
}

TEST(Conv2d, GroupsStrideAndPaddingAgreeWithPyTorch) {
  const nlohmann::json& values = nn_values()["layers"]["conv_norm"];
  const Conv2d layer(tensor_of(values["weight"]), tensor_of(values["bias"]), {.padding = 1, .stride = 2, .groups = 2});
  expect_close(layer.forward(tensor_of(values["x"])), values["y"], 1e-12);
}

TEST(Conv2d, AbsorbsTheNormalisationBehindIt) {
  const nlohmann::json& values = nn_values()["layers"]["conv_norm"];
  const BatchNorm norm(Var::from_tensor(tensor_of(values["mean"])), Var::from_tensor(tensor_of(values["variance"])),
                       tensor_of(values["gamma"]), tensor_of(values["beta"]));
  const ConvConfig config{.padding = 1, .stride = 2, .groups = 2};
  const Conv2d layer(tensor_of(values["weight"]), tensor_of(values["bias"]), config);
  const Tensor x = tensor_of(values["x"]);
  expect_close(norm.forward(layer.forward(x)), values["normed"], 1e-12);
  expect_close(layer.absorb_bn(norm).forward(x), values["normed"], 1e-12);
}

TEST(ConvTranspose2d, AgreesWithPyTorch) {
  const nlohmann::json& values = nn_values()["layers"]["conv_transpose"];
  const ConvTranspose2d layer(tensor_of(values["weight"]), tensor_of(values["bias"]),
                              {.padding = 1, .output_padding = 1, .stride = 2, .groups = 2});
  expect_close(layer.forward(tensor_of(values["x"])), values["y"], 1e-12);
}

TEST(PReLU, SlopesBelongToChannels) {
  const nlohmann::json& values = nn_values()["layers"]["prelu"];
  expect_close(PReLU(tensor_of(values["weight"])).forward(tensor_of(values["x"])), values["y"], 1e-12);
}

TEST(LayerNorm, WithoutABiasAgreesWithPyTorch) {
  const nlohmann::json& values = nn_values()["layers"]["layer_norm"];
  expect_close(LayerNorm(tensor_of(values["weight"]), std::nullopt, 1e-5).forward(tensor_of(values["x"])), values["y"], 1e-6);
}

TEST(LayerNorm, FusedAndComposedAgreeInValueAndGradient) {
  const nlohmann::json& values = nn_values()["layers"]["layer_norm"];
  const Var x = Var::from_tensor(tensor_of(values["x"]));
  const Tensor weight = tensor_of(values["weight"]);
  const Tensor bias = weight * 0.5;
  const auto gradient = [&](const Tensor& y) { return backward((y * y).sum_all()).get(x.tensor())->to_vector<double>(); };
  EXPECT_THAT(gradient(layer_norm(x, weight, bias, 0x1p-16F)),
              testing::Pointwise(testing::DoubleNear(1e-9), gradient(layer_norm_slow(x, weight, bias, 0x1p-16))));
  EXPECT_THAT(gradient(rms_norm(x, weight, 0x1p-16F)),
              testing::Pointwise(testing::DoubleNear(1e-9), gradient(rms_norm_slow(x, weight, 0x1p-16))));
}

TEST(BatchNorm, OneElementAChannelCannotBeTrained) {
  const BatchNorm norm(Var::zeros({2}, DType::f32, cpu()), Var::ones({2}, DType::f32, cpu()), std::nullopt, std::nullopt);
  EXPECT_THAT([&] { (void)norm.forward_t(Tensor::zeros({1, 2}, DType::f32, cpu()), Mode::train); },
              ThrowsMessage<Error>(HasSubstr("fewer than two elements a channel")));
}

TEST(Pixels, ShuffleAgreesWithPyTorchAndUnshuffleUndoesIt) {
  const nlohmann::json& values = nn_values()["layers"]["shuffle"];
  const Tensor x = tensor_of(values["x"]);
  expect_close(pixel_shuffle(x, 2), values["y"], 0);
  expect_close(pixel_unshuffle(pixel_shuffle(x, 2), 2), values["x"], 0);
}

TEST(Pixels, ReplicationPadsAgreeWithPyTorch) {
  const nlohmann::json& values = nn_values()["layers"]["pad"];
  expect_close(replication_pad2d(tensor_of(values["x"]), 2), values["y"], 0);
}

TEST(OneHot, MinusOneIsNowhereAndBeyondTheDepthIsAnError) {
  const Tensor hot = one_hot(Tensor::of<int64_t>({{1, -1}, {0, 2}}, cpu()), 3, DType::f32, 5, -1);
  EXPECT_EQ(hot.shape(), (Shape{2, 2, 3}));
  EXPECT_THAT(hot.to_vector<float>(), ElementsAre(-1, 5, -1, -1, -1, -1, 5, -1, -1, -1, -1, 5));
  EXPECT_THAT([] { (void)one_hot(Tensor::of<uint32_t>({3}, cpu()), 3); },
              ThrowsMessage<Error>(HasSubstr("id 3 is out of range for depth 3; allowed: -1 to 2")));
}

TEST(Rotary, FusedAndComposedAgreeForBatchesOfTables) {
  const Tensor x = Tensor::arange(0, 2 * 3 * 5 * 8, DType::f32, cpu()).reshape({2, 3, 5, 8}).sin();
  const Tensor angles = Tensor::arange(0, 2 * 7 * 4, DType::f32, cpu()).reshape({2, 7, 4}) * 0.1;
  const auto near = [](const Tensor& a) { return testing::Pointwise(testing::FloatNear(1e-6F), a.to_vector<float>()); };
  for (const Tensor& table : {angles, angles.get(1)}) {
    const Tensor cos = table.cos();
    const Tensor sin = table.sin();
    EXPECT_THAT(rope(x, cos, sin).to_vector<float>(), near(rope_slow(x, cos, sin)));
    EXPECT_THAT(rope_i(x, cos, sin).to_vector<float>(), near(rope_i_slow(x, cos, sin)));
    const Tensor thd = x.transpose(1, 2);
    EXPECT_THAT(rope_thd(thd, cos, sin).to_vector<float>(), near(rope_thd_slow(thd, cos, sin)));
    EXPECT_THAT(rope_thd(thd, cos, sin).transpose(1, 2).to_vector<float>(), near(rope_slow(x, cos, sin)));
  }
}

TEST(Sequential, ChainsLayersAndKeepsWhatEachGave) {
  Sequential net;
  net.add(Linear(Tensor::of<float>({{2}}, cpu()))).add(Activation(ActivationKind::relu)).add([](const Tensor& x) { return x + 1.0; });
  const Tensor x = Tensor::of<float>({{-3}, {4}}, cpu());
  EXPECT_THAT(net.forward(x).to_vector<float>(), ElementsAre(1, 9));
  const std::vector<Tensor> all = net.forward_all(x);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_THAT(all[0].to_vector<float>(), ElementsAre(-6, 8));
  EXPECT_THAT(all[1].to_vector<float>(), ElementsAre(0, 8));
}

TEST(Dropout, KeepsTheExpectationAndPassesGradientsWhereElementsStay) {
  const Var x = Var::ones({20000}, DType::f32, cpu());
  const Tensor y = Dropout(0.25).forward_t(x, Mode::train);
  const std::vector<float> values = y.to_vector<float>();
  const auto kept = static_cast<double>(std::count(values.begin(), values.end(), 1 / 0.75F));
  EXPECT_EQ(kept + static_cast<double>(std::count(values.begin(), values.end(), 0.0F)), 20000);
  EXPECT_NEAR(kept / 20000, 0.75, 0.02);  // six standard deviations
  EXPECT_EQ(backward(y.sum_all()).get(x.tensor())->to_vector<float>(), values);
  EXPECT_EQ(Dropout(0.25).forward(x).to_vector<float>(), std::vector<float>(20000, 1));
  EXPECT_THROW(Dropout(1), Error);
}

TEST(GumbelSoftmax, DrawsInProportionToTheProbabilities) {
  const Tensor logits = Tensor::of<float>({1, 2, 5}, cpu()).log().broadcast_to({16000, 3});
  const std::vector<uint32_t> drawn = gumbel_softmax(logits, 1, -1).to_vector<uint32_t>();
  const auto share = [&](uint32_t i) { return static_cast<double>(std::count(drawn.begin(), drawn.end(), i)) / 16000; };
  EXPECT_NEAR(share(0), 1.0 / 8, 0.02);
  EXPECT_NEAR(share(1), 2.0 / 8, 0.02);
  EXPECT_NEAR(share(2), 5.0 / 8, 0.02);
  EXPECT_THAT(gumbel_softmax(logits.narrow(0, 0, 2), 0, -1).to_vector<uint32_t>(), ElementsAre(2, 2));
}

}  // namespace
}  // namespace wick::nn
