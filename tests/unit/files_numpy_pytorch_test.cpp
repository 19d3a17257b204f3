// Tensors in the files of NumPy and PyTorch: tensor/files.h. (They need zlib, so the tests of the kernels do not hold them.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/message_of.h"
#include "unit/shared_data.h"
#include "unit/temporary_folder.h"
#include "wick/base/error.h"
#include "wick/tensor/files.h"

namespace wick {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::filesystem::path own(const std::string& name) { return source_file("tests/data/formats") / name; }

TEST(NumpyFiles, ArraysOfNumPyAreTensors) {
  const Tensor cube = read_npy(own("npy/big_fortran.npy"), Device::cpu());
  EXPECT_EQ(cube.dtype(), DType::i16);
  EXPECT_EQ(cube.to_bytes(), Tensor::arange(0, 24, DType::i16, Device::cpu()).to_bytes());
  const NamedTensors arrays = read_npz(own("npz/deflated.npz"), Device::cpu());
  EXPECT_EQ(arrays.size(), 3u);
  EXPECT_EQ(arrays.at("layer.weight").to_bytes(), Tensor::arange(0, 300, DType::f32, Device::cpu()).to_bytes());
  EXPECT_EQ(read_npz(own("npz/stored.npz"), "x", Device::cpu()).shape(), (Shape{2, 3}));
}

TEST(NumpyFiles, WhatIsWrittenComesBack) {
  const TemporaryFolder folder;
  const Tensor numbers = Tensor::arange(0, 12, DType::f32, Device::cpu()).reshape({3, 4});
  for (const DType dtype : {DType::u8, DType::u32, DType::i8, DType::i16, DType::i32, DType::i64, DType::f16, DType::f32, DType::f64}) {
    const Tensor view = numbers.to_dtype(dtype).t();
    write_npy(view, folder / "a.npy");
    EXPECT_EQ(read_npy(folder / "a.npy", Device::cpu()).shape(), (Shape{4, 3}));
    EXPECT_EQ(read_npy(folder / "a.npy", Device::cpu()).to_bytes(), view.to_bytes());
    NamedTensors tensors;
    tensors.emplace("view", view);
    for (const NpzCompression compression : {NpzCompression::none, NpzCompression::deflate}) {
      write_npz(tensors, folder / "a.npz", compression);
      EXPECT_EQ(read_npz(folder / "a.npz", Device::cpu()).at("view").to_bytes(), view.to_bytes());
    }
  }
  EXPECT_THAT(message_of(ErrorCode::unsupported, [&] { write_npy(numbers.to_dtype(DType::bf16), folder / "b.npy"); }), HasSubstr("bf16"));
}

TEST(NumpyFiles, AnEmptyTensorIsNamedAndNothingIsWritten) {
  const TemporaryFolder folder;
  const NamedTensors tensors = {{"a", Tensor::zeros({2}, DType::f32, Device::cpu())}, {"b", Tensor()}};
  EXPECT_EQ(message_of(ErrorCode::invalid_argument, [&] { write_npz(tensors, folder / "none.npz"); }),
            "write_npz: tensor 'b' is empty: it was never assigned, or was moved from; assign another to it first");
  EXPECT_FALSE(std::filesystem::exists(folder / "none.npz"));
}

TEST(PytorchFiles, ViewsOfOneStorageShareIt) {
  for (const char* name : {"pytorch/state_dict.pt", "pytorch/state_dict_legacy.pt", "pytorch/deflated.pt"}) {
    const NamedTensors tensors = load_pytorch(own(name), Device::cpu());
    EXPECT_EQ(tensors.size(), 9u);
    const Tensor& transposed = tensors.at("transposed");
    EXPECT_THAT(transposed.layout().strides(), ElementsAre(1, 6));
    EXPECT_EQ(transposed.t().to_bytes(), Tensor::arange(0, 24, DType::f32, Device::cpu()).to_bytes());
    EXPECT_THAT(tensors.at("window").to_vector<float>(), ElementsAre(8, 9, 10, 14, 15, 16));
    EXPECT_EQ(tensors.at("expanded").to_vector<float>(), std::vector<float>(12, 5.0f));
    EXPECT_EQ(tensors.at("window").storage(), transposed.storage());
    EXPECT_EQ(tensors.at("scalar").item(), 3.5);
    EXPECT_EQ(tensors.at("empty").shape(), (Shape{0, 3}));
    EXPECT_EQ(tensors.at("channels_last").to_bytes(), Tensor::arange(0, 48, DType::f32, Device::cpu()).to_bytes());
  }
}

TEST(PytorchFiles, AKeyChoosesThePartOfACheckpoint) {
  const NamedTensors part = load_pytorch(own("pytorch/checkpoint.pt"), Device::cpu(), "state_dict");
  EXPECT_EQ(part.size(), 3u);
  EXPECT_THAT(part.at("layer.bias").to_vector<float>(), ElementsAre(0.5f, -0.5f));
  EXPECT_EQ(load_pytorch(own("pytorch/checkpoint.pt"), Device::cpu()).size(), 4u);
}

TEST(PytorchFiles, EveryDtype) {
  const NamedTensors tensors = load_pytorch(own("pytorch/dtypes.pt"), Device::cpu());
  EXPECT_EQ(tensors.size(), 9u);
  for (const auto& [name, tensor] : tensors) {
    if (name == "bool") {
      EXPECT_THAT(tensor.to_vector<float>(), ElementsAre(1, 0, 1));
    } else {
      EXPECT_THAT(tensor.to_vector<float>(), ElementsAre(0, 1, 2, 3, 100)) << name;
    }
  }
  EXPECT_THAT(message_of(ErrorCode::unsupported, [] { static_cast<void>(load_pytorch(own("pytorch/version3.pt"), Device::cpu())); }),
              HasSubstr("tensor 'f8e5m2': dtype 'torch.float8_e5m2'"));
}

// Two trainings of one net: the same names, dtypes and shapes. (formats_pytorch_test.cpp compares the elements with PyTorch's.)
TEST(PytorchFiles, TheSharedModelHasTheNamesOfItsSafetensorsFile) {
  const auto path = shared_data("data/mnist/mnist.pt");
  if (!path) GTEST_SKIP() << kSharedDataMissing;
  const NamedTensors tensors = load_pytorch(*path, Device::cpu());
  const NamedTensors expected = load_safetensors(path->parent_path() / "mnist.safetensors", Device::cpu());
  ASSERT_EQ(tensors.size(), expected.size());
  for (const auto& [name, tensor] : tensors) {
    EXPECT_EQ(tensor.shape(), expected.at(name).shape()) << name;
    EXPECT_EQ(tensor.dtype(), expected.at(name).dtype()) << name;
  }
}

}  // namespace
}  // namespace wick
