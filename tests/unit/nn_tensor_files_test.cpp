#include "wick/nn/tensor_files.h"

#include <gmock/gmock.h>

#include "shared_data.h"
#include "temporary_folder.h"
#include "wick/base/error.h"
#include "wick/nn/var_builder.h"

namespace wick {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

nn::VarBuilder builder_of(const std::filesystem::path& path) {
  return nn::VarBuilder(open_tensor_source(path, Device::cpu()), DType::f32, Device::cpu());
}

TEST(TensorFiles, VariablesAndBuffersComeBackFromSafetensors) {
  const TemporaryFolder folder;
  const auto fill = [](const nn::VarMap& map, double value) {
    (void)map.get({2, 3}, "layer.weight", nn::init::Constant{value}, DType::f32, Device::cpu());
    (void)map.get({3}, "layer.mean", nn::init::Constant{value + 1}, DType::f64, Device::cpu(), false);
  };
  const nn::VarMap saved;
  fill(saved, 0.5);
  save_variables(saved, folder / "net.safetensors");
  const nn::VarMap loaded;
  fill(loaded, 0);
  loaded.load(*open_tensor_source(folder / "net.safetensors", Device::cpu()));
  EXPECT_EQ(loaded.find("layer.weight")->tensor().to_vector<float>(), std::vector<float>(6, 0.5F));
  EXPECT_EQ(loaded.find("layer.mean")->tensor().to_vector<double>(), std::vector<double>(3, 1.5));
  // The file may be written again while tensors look at it.
  save_variables(loaded, folder / "net.safetensors");
  (void)loaded.get({1}, "layer.more", nn::init::Constant{0}, DType::f32, Device::cpu());
  EXPECT_THAT([&] { loaded.load(*open_tensor_source(folder / "net.safetensors", Device::cpu())); },
              ThrowsMessage<Error>(HasSubstr("net.safetensors: no tensor 'layer.more'")));
}

// Two trainings of one net.
TEST(TensorFiles, PyTorchAndSafetensorsHaveTheSameNamesAndShapes) {
  const auto safetensors = shared_data("data/mnist/mnist.safetensors");
  const auto pytorch = shared_data("data/mnist/mnist.pt");
  if (!safetensors || !pytorch) GTEST_SKIP() << kSharedDataMissing;
  const auto names = open_tensor_source(*safetensors, Device::cpu())->names();
  EXPECT_THAT(open_tensor_source(*pytorch, Device::cpu())->names(), testing::UnorderedElementsAreArray(names));
  for (const std::string& name : names)
    EXPECT_EQ(builder_of(*safetensors).get_stored(name).shape(), builder_of(*pytorch).get_stored(name).shape()) << name;
}

TEST(TensorFiles, QuantizedTensorsOfGgufBecomeFloatsWhereTheyAreAskedFor) {
  const nn::VarBuilder builder = builder_of(source_file("models/novelist-20m-q8_0.gguf"));
  const Tensor stored = builder.get_stored("token_embd.weight");
  EXPECT_EQ(stored.dtype(), DType::q8_0);
  const Tensor floats = builder.get({8192, 512}, "token_embd.weight");
  EXPECT_EQ(floats.dtype(), DType::f32);
  EXPECT_EQ(floats.get(5).to_vector<float>(), stored.narrow(0, 5, 1).to_dtype(DType::f32).to_vector<float>());
}

TEST(TensorFiles, OtherNamesAreRefused) {
  EXPECT_THAT([] { (void)open_tensor_source("weights.txt", Device::cpu()); },
              ThrowsMessage<Error>(HasSubstr("weights.txt: a name that ends in '.txt'")));
}

}  // namespace
}  // namespace wick
