#include <fmt/format.h>

#include "unit/message_of.h"
#include "wick/formats/pytorch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "unit/shared_data.h"
#include "unit/temporary_folder.h"
#include "wick/base/error.h"
#include "wick/base/mapped_file.h"
#include "wick/formats/npz.h"

namespace wick {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What torch.save wrote, by tests/data/formats/make_data.py.
std::filesystem::path checkpoint(const std::string& name) { return source_file("tests/data/formats/pytorch") / (name + ".pt"); }

std::string refused_file(ErrorCode code, const std::string& name, std::string_view key = {}) {
  const std::string message = message_of(code, [&] { static_cast<void>(PytorchFile::open(checkpoint(name), key)); });
  EXPECT_THAT(message, HasSubstr(name + ".pt: "));
  return message;
}

std::vector<std::string> names(const PytorchFile& file) {
  std::vector<std::string> found;
  for (const PytorchTensor& tensor : file.tensors()) found.push_back(tensor.name);
  return found;
}

template <class T = float>
std::vector<T> values(const PytorchFile& file, std::string_view name) {
  const std::vector<std::byte> data = file.read(file.get(name));
  std::vector<T> numbers(data.size() / sizeof(T));
  std::memcpy(numbers.data(), data.data(), data.size());
  return numbers;
}

// The state_dict of make_data.py: views of 0, 1, …, 23.
void expect_state_dict(const PytorchFile& file) {
  EXPECT_THAT(names(file),
              ElementsAre("plain", "transposed", "window", "expanded", "permuted", "channels_last", "scalar", "empty", "parameter"));
  for (int64_t row = 0; row < 6; ++row) {
    for (int64_t column = 0; column < 4; ++column) {
      EXPECT_EQ(values(file, "plain")[static_cast<size_t>(column * 6 + row)], static_cast<float>(column * 6 + row));
      EXPECT_EQ(values(file, "transposed")[static_cast<size_t>(row * 4 + column)], static_cast<float>(column * 6 + row));
    }
  }
  EXPECT_EQ(file.get("transposed").layout.shape(), (Shape{6, 4}));
  EXPECT_THAT(file.get("transposed").layout.strides(), ElementsAre(1, 6));
  EXPECT_THAT(values(file, "window"), ElementsAre(8, 9, 10, 14, 15, 16));
  EXPECT_EQ(file.get("window").storage, file.get("transposed").storage);
  EXPECT_NE(file.get("window").storage, file.get("plain").storage);
  EXPECT_EQ(values(file, "expanded"), std::vector<float>(12, 5.0f));
  EXPECT_THAT(file.get("expanded").layout.strides(), ElementsAre(0, 0));
  EXPECT_EQ(file.get("permuted").layout.shape(), (Shape{4, 2, 3}));
  EXPECT_THAT(values(file, "permuted"), ElementsAre(0, 4, 8, 12, 16, 20, 1, 5, 9, 13, 17, 21, 2, 6, 10, 14, 18, 22, 3, 7, 11, 15, 19, 23));
  for (size_t index = 0; index < 48; ++index) EXPECT_EQ(values(file, "channels_last")[index], static_cast<float>(index));
  EXPECT_EQ(file.get("scalar").layout.rank(), 0);
  EXPECT_THAT(values(file, "scalar"), ElementsAre(3.5f));
  EXPECT_EQ(file.get("empty").layout.shape(), (Shape{0, 3}));
  EXPECT_TRUE(file.read(file.get("empty")).empty());
  EXPECT_THAT(values(file, "parameter"), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_TRUE(file.refused().empty());
  EXPECT_TRUE(file.opaque().empty());
}

TEST(Pytorch, ViewsSharedStoragesAndParametersOfBothFormatsAndEveryProtocol) {
  for (const char* name : {"state_dict", "state_dict_legacy", "protocol4", "protocol5_legacy", "deflated"}) {
    SCOPED_TRACE(name);
    const PytorchFile file = PytorchFile::open(checkpoint(name));
    EXPECT_EQ(file.container(), std::string_view(name).ends_with("legacy") ? "legacy" : "zip");
    expect_state_dict(file);
  }
}

TEST(Pytorch, StoredTensorsAreMappedNotCopied) {
  const PytorchFile file = PytorchFile::open(checkpoint("state_dict"));
  for (const PytorchStorage& storage : file.storages()) {
    const auto mapping = std::static_pointer_cast<const MappedFile>(storage.owner);
    if (storage.data.empty()) continue;
    EXPECT_GE(storage.data.data(), mapping->bytes().data());
    EXPECT_LE(storage.data.data() + storage.data.size(), mapping->bytes().data() + mapping->bytes().size());
    EXPECT_EQ((storage.data.data() - mapping->bytes().data()) % 64, 0);  // PyTorch aligns them
  }
}

TEST(Pytorch, EveryDtypeOfBothFormats) {
  for (const char* name : {"dtypes", "dtypes_legacy"}) {
    const PytorchFile file = PytorchFile::open(checkpoint(name));
    ASSERT_EQ(file.tensors().size(), 9u);
    EXPECT_THAT(values<uint8_t>(file, "uint8"), ElementsAre(0, 1, 2, 3, 100));
    EXPECT_THAT(values<int16_t>(file, "int16"), ElementsAre(0, 1, 2, 3, 100));
    EXPECT_THAT(values<int32_t>(file, "int32"), ElementsAre(0, 1, 2, 3, 100));
    EXPECT_THAT(values<int64_t>(file, "int64"), ElementsAre(0, 1, 2, 3, 100));
    EXPECT_THAT(values<float>(file, "float32"), ElementsAre(0, 1, 2, 3, 100));
    EXPECT_THAT(values<double>(file, "float64"), ElementsAre(0, 1, 2, 3, 100));
    EXPECT_THAT(values<uint16_t>(file, "float16"), ElementsAre(0, 0x3c00, 0x4000, 0x4200, 0x5640));
    EXPECT_THAT(values<uint16_t>(file, "bfloat16"), ElementsAre(0, 0x3f80, 0x4000, 0x4040, 0x42c8));
    EXPECT_THAT(values<uint8_t>(file, "bool"), ElementsAre(1, 0, 1));
    EXPECT_EQ(file.get("float16").dtype, DType::f16);
    EXPECT_EQ(file.get("bfloat16").dtype, DType::bf16);
    EXPECT_EQ(file.get("bool").dtype, DType::u8);
  }
}

TEST(Pytorch, NewDtypesComeInUntypedStorages) {
  const PytorchFile file = PytorchFile::open(checkpoint("version3"));
  EXPECT_EQ(file.get("f8").dtype, DType::f8e4m3);
  EXPECT_THAT(values<uint8_t>(file, "f8"), ElementsAre(0x38, 0x40, 0xb8, 0x7e));
  EXPECT_THAT(values<uint32_t>(file, "u32"), ElementsAre(1u, 0xffffffffu));
  EXPECT_THAT(message_of(ErrorCode::unsupported, [&] { static_cast<void>(file.get("f8e5m2")); }), HasSubstr("dtype 'torch.float8_e5m2'"));
}

TEST(Pytorch, TensorsThatWickCannotHoldAreRefusedByNameAndLeaveTheOthers) {
  for (const char* name : {"refused", "refused_legacy"}) {
    const PytorchFile file = PytorchFile::open(checkpoint(name));
    EXPECT_THAT(names(file), ElementsAre("good", "int8"));
    EXPECT_THAT(values(file, "good"), ElementsAre(0, 1, 2));
    EXPECT_THAT(values<int8_t>(file, "int8"), ElementsAre(1, -1));
    const auto why = [&](const char* tensor) { return message_of(ErrorCode::unsupported, [&] { static_cast<void>(file.get(tensor)); }); };
    EXPECT_THAT(why("complex64"), HasSubstr("tensor 'complex64': dtype complex64"));
    EXPECT_THAT(why("quantized"), HasSubstr("'torch._utils._rebuild_qtensor'"));
    EXPECT_THAT(why("sparse"), HasSubstr("'torch._utils._rebuild_sparse_tensor'"));
    EXPECT_THAT(message_of(ErrorCode::unsupported, [&] { file.require_all(); }), HasSubstr("tensor 'complex64'"));
    message_of(ErrorCode::not_found, [&] { static_cast<void>(file.get("absent")); });
  }
}

TEST(Pytorch, ACheckpointGivesItsTensorsAndListsWhatIsUnknown) {
  for (const char* name : {"checkpoint", "checkpoint_legacy"}) {
    SCOPED_TRACE(name);
    const PytorchFile file = PytorchFile::open(checkpoint(name));
    EXPECT_THAT(names(file),
                ElementsAre("state_dict.layer.weight", "state_dict.layer.bias", "state_dict.tied", "optimizer_states.0.state.0.exp_avg"));
    EXPECT_THAT(values(file, "state_dict.layer.weight"), ElementsAre(0, 1, 2, 3, 4, 5));
    EXPECT_EQ(file.get("state_dict.tied").storage, file.get("state_dict.layer.weight").storage);
    std::vector<std::string> unknown;
    for (const LeftOut& value : file.opaque()) unknown.push_back(value.name + " " + value.what);
    EXPECT_THAT(unknown, ::testing::Contains("hyper_parameters 'argparse.Namespace'(…)"));
    EXPECT_THAT(unknown, ::testing::Contains("numpy 'numpy.core.multiarray.scalar'(…)"));
    EXPECT_THAT(unknown, ::testing::Contains("array 'numpy.core.multiarray._reconstruct'(…)"));

    const PytorchFile part = PytorchFile::open(checkpoint(name), "state_dict");
    EXPECT_THAT(names(part), ElementsAre("layer.weight", "layer.bias", "tied"));
    EXPECT_THAT(values(part, "layer.bias"), ElementsAre(0.5f, -0.5f));
    EXPECT_THAT(names(PytorchFile::open(checkpoint(name), "optimizer_states.0")), ElementsAre("state.0.exp_avg"));
    EXPECT_THAT(refused_file(ErrorCode::not_found, name, "model"),
                HasSubstr("no tensor below the key 'model'; the file's keys with tensors are: 'optimizer_states', 'state_dict'"));
  }
}

TEST(Pytorch, ListsTuplesAndBareTensors) {
  const PytorchFile list = PytorchFile::open(checkpoint("list"));
  EXPECT_THAT(names(list), ElementsAre("0", "1.0", "1.1.x"));
  EXPECT_THAT(values<int64_t>(list, "1.0"), ElementsAre(0, 1, 2));
  EXPECT_THAT(values(PytorchFile::open(checkpoint("tensor")), ""), ElementsAre(0, 1, 2, 3));
  EXPECT_TRUE(PytorchFile::open(checkpoint("nothing")).tensors().empty());
  const PytorchFile cycle = PytorchFile::open(checkpoint("cycle"));
  EXPECT_THAT(names(cycle), ElementsAre("weight"));
  EXPECT_EQ(cycle.opaque().size(), 1u);
}

TEST(Pytorch, BadFilesAreRefused) {
  EXPECT_THAT(refused_file(ErrorCode::unsupported, "module"), HasSubstr("'torch.nn.modules.linear.Linear'(…)"));
  EXPECT_THAT(refused_file(ErrorCode::unsupported, "tar"), HasSubstr("before 0.1.10"));
  EXPECT_THAT(refused_file(ErrorCode::unsupported, "big_endian"), HasSubstr("byte order 'big'"));
  EXPECT_THAT(refused_file(ErrorCode::unsupported, "same_name"), HasSubstr("two tensors are called 'a.b'"));
  EXPECT_THAT(refused_file(ErrorCode::corrupt_file, "no_storage"), HasSubstr("zip entry 'none/data/0' is missing"));
  EXPECT_THAT(refused_file(ErrorCode::corrupt_file, "small_storage"), HasSubstr("should have 1 elements of 4 bytes, but has 3 bytes"));
  EXPECT_THAT(refused_file(ErrorCode::corrupt_file, "beyond_storage"),
              HasSubstr("tensor 'x': its last element is number 4, but its storage '0' has 4"));
  const auto parse = [](std::string_view text) { static_cast<void>(PytorchFile::parse(std::as_bytes(std::span(text)), "a.pt")); };
  message_of(ErrorCode::corrupt_file, [&] { parse("abc"); });
  message_of(ErrorCode::corrupt_file, [&] { parse(""); });
  EXPECT_THAT(message_of(ErrorCode::unsupported, [&] { parse("\x80\x02K\x07."); }), HasSubstr("a pickle that holds 7"));
  EXPECT_THAT(
      message_of(ErrorCode::unsupported, [&] { static_cast<void>(PytorchFile::open(source_file("tests/data/formats/npz/stored.npz"))); }),
      HasSubstr("no entry 'data.pkl'"));
}

// posix.system('touch /') in a pickle is a value like any other: it is named and left alone.
TEST(Pytorch, NothingIsEverRun) {
  const PytorchFile file = PytorchFile::open(checkpoint("hostile"));
  EXPECT_TRUE(file.tensors().empty());
  ASSERT_EQ(file.opaque().size(), 1u);
  EXPECT_EQ(file.opaque()[0].what, "'posix.system'(…)");
}

TEST(Pytorch, EveryTruncationIsRefused) {
  for (const char* name : {"state_dict", "state_dict_legacy"}) {
    const std::vector<std::byte> good = read_bytes(checkpoint(name));
    for (size_t length = 0; length < good.size(); ++length) {
      message_of(ErrorCode::corrupt_file, [&] { static_cast<void>(PytorchFile::parse(std::span(good).first(length), "a.pt")); });
    }
  }
}

// {'x': {…}} where each level holds the next one twice: 2^60 ways to one tensor.
TEST(Pytorch, ManyWaysToOneTensorEnd) {
  using namespace std::string_literals;
  std::string stream = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03."s;
  stream += "\x80\x02}X\x0d\0\0\0little_endian\x88s."s;
  stream += "\x80\x02}"s;
  for (int level = 0; level < 60; ++level) stream += "q\x01}(X\x01\0\0\0ah\x01X\x01\0\0\0bh\x01u"s;
  stream.insert(stream.size(), ".");
  // Each level leaves its inner dictionary below it on the stack: a tuple takes them all.
  const size_t begin = stream.rfind("\x80\x02}");
  stream.insert(begin + 2, "(");
  stream.insert(stream.size() - 1, "t");
  stream += "\x80\x02].";
  EXPECT_THAT(message_of(ErrorCode::unsupported, [&] { static_cast<void>(PytorchFile::parse(std::as_bytes(std::span(stream)), "a.pt")); }),
              HasSubstr("than any checkpoint has"));
}

uint64_t fnv1a(std::span<const std::byte> bytes) {
  uint64_t value = 0xcbf29ce484222325;
  for (const std::byte byte : bytes) value = (value ^ std::to_integer<uint64_t>(byte)) * 0x100000001b3;
  return value;
}

DType dtype_of_pytorch(const std::string& name) {
  if (name == "uint8" || name == "bool") return DType::u8;
  if (name == "bfloat16") return DType::bf16;
  if (name.starts_with("float")) return *parse_dtype("f" + name.substr(5));
  return *parse_dtype("i" + name.substr(3));
}

// Every tensor of the shared files, as PyTorch and NumPy read it: its dtype, its shape and the hash of its elements.
TEST(Pytorch, ReadsTheSharedFixturesAsPytorchDoes) {
  std::ifstream lines(source_file("tests/data/formats/shared_tensors.tsv"));
  std::string text;
  std::map<std::string, size_t> tensors;
  while (std::getline(lines, text)) {
    std::array<std::string, 5> fields;  // file, tensor, dtype, shape, hash
    std::istringstream line(text);
    for (std::string& field : fields) std::getline(line, field, '\t');
    const auto path = shared_data("data/" + fields[0]);
    if (!path) GTEST_SKIP() << kSharedDataMissing;
    SCOPED_TRACE(text);
    const std::string extension = path->extension().string();
    NpyArray array;
    if (fields[2] == "broken") {
      message_of(ErrorCode::corrupt_file, [&] { static_cast<void>(PytorchFile::open(*path)); });
      continue;
    }
    if (extension == ".npy" || extension == ".npz") {
      array = extension == ".npy" ? read_npy_array(*path) : NpzFile::open(*path).read(fields[1]);
    } else {
      const PytorchFile file = PytorchFile::open(*path);
      const PytorchTensor& tensor = file.get(fields[1]);
      array = {.dtype = tensor.dtype, .shape = tensor.layout.shape(), .data = file.read(tensor)};
      ++tensors[fields[0]];
      EXPECT_LE(tensors[fields[0]], file.tensors().size());
    }
    EXPECT_EQ(array.dtype, dtype_of_pytorch(fields[2]));
    EXPECT_EQ(array.shape.to_string(), fields[3]);
    EXPECT_EQ(fmt::format("{:016x}", fnv1a(array.data)), fields[4]);
  }
  for (const auto& [name, count] : tensors) {
    EXPECT_EQ(PytorchFile::open(*shared_data("data/" + name)).tensors().size(), count) << name;
  }
  EXPECT_GT(tensors.size(), 50u);
}

}  // namespace
}  // namespace wick
