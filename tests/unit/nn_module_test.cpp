#include "wick/nn/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/message_of.h"
#include "unit/shared_data.h"
#include "unit/temporary_folder.h"
#include "wick/nn.h"

namespace wick {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names_of(const nn::Module& module) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : module.state_dict()) names.push_back(name);
  return names;
}

nn::Sequential small_net() {
  nn::Sequential net;
  net.add(nn::Linear(4, 3)).add([](const Tensor& x) { return x.relu(); }).add(nn::BatchNorm(3)).add(nn::Linear(3, 2, {.bias = false}));
  return net;
}

TEST(Module, LinearOfSizesIsDrawnAsPyTorchDrawsIt) {
  const nn::Linear layer(64, 1000);
  EXPECT_EQ(layer.weight().shape(), (Shape{1000, 64}));
  EXPECT_EQ(layer.bias()->shape(), Shape{1000});
  // Uniform in ±1/√64: the largest of 64,000 is close to the bound, the deviation is bound / √3.
  EXPECT_LE(layer.weight().abs().max().item(), 0.125);
  EXPECT_GT(layer.weight().abs().max().item(), 0.1249);
  EXPECT_NEAR(std::sqrt(layer.weight().sqr().mean().item()), 0.125 / std::sqrt(3.0), 1e-3);
  EXPECT_EQ(message_of([] { (void)nn::Linear(0, 3); }), "Linear: size 0 must be 1 or more");
}

TEST(Module, ParametersAreTheTrainableVariables) {
  const nn::Sequential net = small_net();
  std::vector<Shape> shapes;
  for (const Var& var : net.parameters()) shapes.push_back(var->shape());
  EXPECT_THAT(shapes, ElementsAre(Shape{3, 4}, Shape{3}, Shape{3}, Shape{3}, Shape{2, 3}));  // no running statistics
  EXPECT_THAT(names_of(net), ElementsAre("0.bias", "0.weight", "2.bias", "2.running_mean", "2.running_var", "2.weight", "3.weight"));
}

TEST(Module, AnOptimizerOfItsParametersTrainsIt) {
  const nn::Linear layer(1, 1);
  const Tensor x = Tensor::of<float>({{1}, {2}, {3}, {4}});
  nn::Sgd optimizer(layer.parameters(), 0.05);
  for (int step = 0; step < 500; ++step) optimizer.backward_step(nn::mse(layer.forward(x), x * 2 + 1));
  EXPECT_NEAR(layer.weight().item(), 2, 1e-3);
  EXPECT_NEAR(layer.bias()->item(), 1, 1e-3);
}

TEST(Module, StateDictMovesANetsValuesToAnother) {
  const nn::Sequential from = small_net();
  const nn::Sequential to = small_net();
  const Tensor x = Tensor::randn({5, 4});
  ASSERT_NE(from.forward(x).to_vector<float>(), to.forward(x).to_vector<float>());
  to.load_state_dict(from.state_dict());
  EXPECT_EQ(from.forward(x).to_vector<float>(), to.forward(x).to_vector<float>());
}

TEST(Module, AStateDictThatDoesNotFitChangesNothing) {
  const nn::Linear layer(2, 2);
  const std::vector<float> before = layer.weight().to_vector<float>();
  std::map<std::string, Tensor> state{{"weight", Tensor::zeros({2, 2})}};
  EXPECT_EQ(message_of([&] { layer.load_state_dict(state); }), "load_state_dict: no tensor 'bias'");
  state["bias"] = Tensor::zeros({3});
  EXPECT_EQ(message_of([&] { layer.load_state_dict(state); }),
            "load_state_dict: 'bias' is Tensor[[3], f32], the module has Tensor[[2], f32]");
  state["bias"] = Tensor::zeros({2});
  state["scale"] = Tensor::zeros({2});
  EXPECT_EQ(message_of([&] { layer.load_state_dict(state); }), "load_state_dict: the module has no tensor 'scale'");
  EXPECT_EQ(layer.weight().to_vector<float>(), before);
  const nn::Linear constant(Tensor::zeros({2, 2}));
  EXPECT_THAT(message_of([&] { constant.load_state_dict({{"weight", Tensor::ones({2, 2})}}); }), HasSubstr("a constant, not a variable"));
}

TEST(DataLoader, CutsIntoBatches) {
  const nn::Dataset data(Tensor::arange(0, 10).reshape({10, 1}), Tensor::arange(0, 10, DType::u32));
  nn::DataLoader all(data, {.batch_size = 4});
  EXPECT_EQ(all.size(), 3);
  std::vector<int64_t> sizes;
  for (const nn::Batch& batch : all.batches()) sizes.push_back(batch.inputs.dim(0));
  EXPECT_THAT(sizes, ElementsAre(4, 4, 2));
  EXPECT_EQ(nn::DataLoader(data, {.batch_size = 4, .drop_last = true}).batches().size(), 2U);
  EXPECT_EQ(message_of([&] { nn::DataLoader(data, {.batch_size = 0}); }), "DataLoader: batch_size 0 must be 1 or more");
}

TEST(DataLoader, ShufflesInputsAndTargetsAlikeAndEachPassAnew) {
  const nn::Dataset data(Tensor::arange(0, 100).reshape({100, 1}), Tensor::arange(0, 100, DType::u32));
  nn::DataLoader loader(data, {.batch_size = 7, .shuffle = true, .seed = 5});
  std::vector<std::vector<float>> passes;
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<float> seen;
    for (const nn::Batch& batch : loader.batches()) {
      EXPECT_EQ(batch.inputs.flatten_all().to_vector<float>(), batch.targets.to_vector<float>());
      for (const float value : batch.inputs.flatten_all().to_vector<float>()) seen.push_back(value);
    }
    passes.push_back(seen);
  }
  EXPECT_NE(passes[0], passes[1]);
  nn::DataLoader again(data, {.batch_size = 100, .shuffle = true, .seed = 5});
  EXPECT_EQ(again.batches().front().inputs.flatten_all().to_vector<float>(), passes[0]);
  std::ranges::sort(passes[0]);
  EXPECT_EQ(passes[0], Tensor::arange(0, 100).to_vector<float>());
}

TEST(Datasets, CsvColumnsBecomeInputsAndTargets) {
  const TemporaryFolder folder;
  std::ofstream(folder / "t.csv") << "a,label,b\n1,0,2\n3,2,4\n";
  const nn::Dataset classes = load_csv(folder / "t.csv", {.target_column = 1, .classes = true});
  EXPECT_EQ(classes.inputs().to_vec2<float>(), (std::vector<std::vector<float>>{{1, 2}, {3, 4}}));
  EXPECT_EQ(classes.targets().to_vec1<uint32_t>(), (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(load_csv(folder / "t.csv").targets().to_vec1<float>(), (std::vector<float>{2, 4}));
  EXPECT_THAT(message_of([&] { (void)load_csv(folder / "t.csv", {.target_column = 3}); }),
              HasSubstr("target_column 3 of a table with 3 columns"));
  std::ofstream(folder / "u.csv") << "1,0.5\n";
  EXPECT_THAT(message_of([&] { (void)load_csv(folder / "u.csv", {.classes = true}); }), HasSubstr("row 0 has the class 0.5"));
}

TEST(Datasets, FoldersOfImagesAreClasses) {
  const TemporaryFolder folder;
  const auto images = source_file("tests/data/formats/images");
  for (const char* name : {"cats", "dogs"}) std::filesystem::create_directory(folder / name);
  std::filesystem::copy(images / "gray.png", folder.path() / "dogs" / "1.PNG");
  std::filesystem::copy(images / "gray.png", folder.path() / "cats" / "1.png");
  std::ofstream(folder.path() / "cats" / "notes.txt") << "no image";
  const nn::Dataset data = load_image_folder(folder.path(), {.channels = 1});
  EXPECT_THAT(data.classes(), ElementsAre("cats", "dogs"));
  EXPECT_EQ(data.inputs().shape(), (Shape{2, 1, 2, 2}));
  EXPECT_EQ(data.targets().to_vec1<uint32_t>(), (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(data.inputs().get(0).flatten_all().to_vector<float>(), (std::vector<float>{0, 64 / 255.0F, 128 / 255.0F, 1}));
  std::filesystem::copy(images / "rgb.png", folder.path() / "dogs" / "2.png");
  EXPECT_THAT(message_of([&] { (void)load_image_folder(folder.path()); }), HasSubstr("2.png: 3 x 2 pixels, other images have 2 x 2"));
  EXPECT_EQ(load_image_folder(folder.path(), {.height = 4, .width = 4}).inputs().shape(), (Shape{3, 3, 4, 4}));
}

TEST(Datasets, MnistIsReadFromItsFiles) {
  const auto images = shared_data("data/mnist/t10k-images-idx3-ubyte.gz");
  if (!images) GTEST_SKIP() << "the shared data is not here";
  const nn::Dataset data = load_mnist(images->parent_path(), MnistPart::test);
  EXPECT_EQ(data.inputs().shape(), (Shape{10000, 1, 28, 28}));
  EXPECT_EQ(data.targets().narrow(0, 0, 5).to_vec1<uint32_t>(), (std::vector<uint32_t>{7, 2, 1, 0, 4}));  // as published
  EXPECT_THAT(message_of([&] { (void)load_mnist(images->parent_path()); }), HasSubstr("train-images-idx3-ubyte"));
}

TEST(StateDict, GoesThroughAFileAsItIs) {
  const TemporaryFolder folder;
  const nn::Linear from(3, 2), to(3, 2);
  save_safetensors(from.state_dict(), folder / "layer.safetensors");
  to.load_state_dict(load_safetensors(folder / "layer.safetensors"));
  const Tensor x = Tensor::rand({4, 3});
  EXPECT_EQ(to.forward(x).to_vector<float>(), from.forward(x).to_vector<float>());
}

}  // namespace
}  // namespace wick
