#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/shared_data.h"
#include "unit/temporary_folder.h"
#include "wick/base/error.h"
#include "wick/tensor/files.h"

namespace wick {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

NamedTensors some_tensors(const Device& device) {
  NamedTensors tensors;
  const Tensor numbers = Tensor::arange(0, 12, DType::f32, device).reshape({3, 4});
  tensors.emplace("plain", numbers);
  tensors.emplace("transposed", numbers.t());
  tensors.emplace("window", numbers.narrow(1, 1, 2));
  tensors.emplace("scalar", Tensor::full({}, 2.5, DType::f64, device));
  tensors.emplace("empty", Tensor::zeros({0, 3}, DType::i64, device));
  for (const DType dtype : {DType::u8, DType::u32, DType::i8, DType::i16, DType::i32, DType::i64, DType::bf16, DType::f16, DType::f8e4m3}) {
    tensors.emplace(std::string(to_string(dtype)), numbers.to_dtype(dtype));
  }
  return tensors;
}

void expect_same(const NamedTensors& lhs, const NamedTensors& rhs) {
  ASSERT_EQ(lhs.size(), rhs.size());
  for (const auto& [name, tensor] : lhs) {
    const auto other = rhs.find(name);
    ASSERT_NE(other, rhs.end()) << name;
    EXPECT_EQ(tensor.dtype(), other->second.dtype()) << name;
    EXPECT_EQ(tensor.shape(), other->second.shape()) << name;
    EXPECT_EQ(tensor.to_bytes(), other->second.to_bytes()) << name;
  }
}

TEST(TensorFiles, SafetensorsGiveBackEveryTensorOfEveryLayout) {
  const TemporaryFolder folder;
  const NamedTensors tensors = some_tensors(Device::cpu());
  save_safetensors(tensors, folder / "a.safetensors", {{"format", "pt"}});
  expect_same(tensors, load_safetensors(folder / "a.safetensors", Device::cpu()));
  const std::vector<std::byte> bytes = read_bytes(folder / "a.safetensors");
  expect_same(tensors, load_safetensors(bytes, "memory", Device::cpu()));
  save_safetensors(load_safetensors(folder / "a.safetensors", Device::cpu()), folder / "a.safetensors", {{"format", "pt"}});
  EXPECT_EQ(read_bytes(folder / "a.safetensors"), bytes);
}

TEST(TensorFiles, ShardedSafetensorsGiveBackEveryTensor) {
  const TemporaryFolder folder;
  const NamedTensors tensors = some_tensors(Device::cpu());
  const std::filesystem::path index = save_safetensors_sharded(tensors, folder.path(), 64);
  EXPECT_EQ(index.extension(), ".json");
  expect_same(tensors, load_safetensors(index, Device::cpu()));
  expect_same(tensors, load_safetensors(folder.path(), Device::cpu()));
}

// A tensor whose pages are the file's may be written to: the file, and another tensor that was loaded from it, stay as they are.
TEST(TensorFiles, WritingToALoadedTensorLeavesTheFile) {
  const TemporaryFolder folder;
  NamedTensors tensors;
  tensors.emplace("w", Tensor::ones({4}, DType::f32, Device::cpu()));
  save_safetensors(tensors, folder / "a.safetensors");
  const Tensor loaded = load_safetensors(folder / "a.safetensors", Device::cpu()).at("w");
  const Tensor other = load_safetensors(folder / "a.safetensors", Device::cpu()).at("w");
  loaded.const_set(5);
  EXPECT_THAT(loaded.to_vector<float>(), ElementsAre(5, 5, 5, 5));
  EXPECT_THAT(other.to_vector<float>(), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(load_safetensors(folder / "a.safetensors", Device::cpu()).at("w").to_vector<float>(), ElementsAre(1, 1, 1, 1));
}

TEST(TensorFiles, ElementsThatTheFileDoesNotAlignAreCopied) {
  // Three bytes before four floats.
  std::string header = R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"F32","shape":[1],"data_offsets":[3,7]}})";
  header.append((8 - header.size() % 8) % 8, ' ');
  std::string text(8, '\0');
  text[0] = static_cast<char>(header.size());
  text += header + std::string("abc\0\0\x80\x3f", 7);
  const TemporaryFolder folder;
  write_bytes(folder / "a.safetensors", std::as_bytes(std::span(text)));
  EXPECT_THAT(load_safetensors(folder / "a.safetensors", Device::cpu()).at("b").to_vector<float>(), ElementsAre(1));
}

TEST(TensorFiles, WhatSafetensorsCannotHoldIsRefused) {
  const TemporaryFolder folder;
  NamedTensors tensors;
  tensors.emplace("q", Tensor::empty({2, 32}, DType::q8_0, Device::cpu()));
  try {
    save_safetensors(tensors, folder / "a.safetensors");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_THAT(error.what(), HasSubstr("tensor 'q': the format has no dtype q8_0"));
  }
  EXPECT_TRUE(folder.names().empty());
}

TEST(TensorFiles, ReadsTheSharedModel) {
  const auto path = shared_data("data/mnist/mnist.safetensors");
  if (!path) GTEST_SKIP() << kSharedDataMissing;
  const NamedTensors tensors = load_safetensors(*path, Device::cpu());
  EXPECT_EQ(tensors.at("conv1.weight").shape(), (Shape{8, 1, 3, 3}));
}

}  // namespace
}  // namespace wick
