#include <fmt/format.h>

#include "unit/message_of.h"
#include "wick/formats/safetensors_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "unit/bytes_of.h"
#include "unit/shared_data.h"
#include "unit/temporary_folder.h"
#include "wick/base/error.h"
#include "wick/formats/safetensors.h"
#include "wick/formats/sharded_safetensors.h"

namespace wick {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::string text_of(const std::filesystem::path& path) {
  const auto bytes = read_bytes(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void write_text(const std::filesystem::path& path, std::string_view text) { write_bytes(path, bytes_of(text)); }

// Data in the order of the format's reference implementation: wider elements first, then by name; the header padded to 8 bytes.
TEST(SafetensorsWriter, WritesTheFormatsBytes) {
  const TemporaryFolder folder;
  SafetensorsWriter writer;
  writer.add_tensor("b", DType::u8, {3}, bytes_of("xyz"));
  writer.add_tensor("z", DType::f32, {1, 1}, bytes_of("4444"));
  writer.add_tensor("a\"\n", DType::f32, {}, bytes_of("0000"));
  writer.add_tensor("none", DType::i64, {0, 2}, bytes_of(""));
  writer.add_metadata("format", "pt");
  writer.write(folder / "m.safetensors");
  std::string header = R"({"__metadata__":{"format":"pt"},"none":{"dtype":"I64","shape":[0,2],"data_offsets":[0,0]},)"
                       R"("a\"\n":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"z":{"dtype":"F32","shape":[1,1],"data_offsets":[4,8]},)"
                       R"("b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}})";
  header.append((8 - header.size() % 8) % 8, ' ');
  const uint64_t length = header.size();
  std::string expected(8, '\0');
  std::memcpy(expected.data(), &length, 8);
  expected += header + "00004444xyz";
  EXPECT_EQ(text_of(folder / "m.safetensors"), expected);
  EXPECT_THAT(folder.names(), UnorderedElementsAre("m.safetensors"));
}

TEST(SafetensorsWriter, EveryDtypeComesBack) {
  const TemporaryFolder folder;
  SafetensorsWriter writer;
  const std::vector<std::byte> data(6 * 8, std::byte{7});
  for (const DType dtype : {DType::u8, DType::u32, DType::i8, DType::i16, DType::i32, DType::i64, DType::bf16, DType::f16, DType::f32,
                            DType::f64, DType::f8e4m3}) {
    writer.add_tensor(to_string(dtype), dtype, {2, 3}, std::span(data).first(static_cast<size_t>(storage_bytes(dtype, 6))));
  }
  writer.write(folder / "m.safetensors");
  const SafetensorsFile file = SafetensorsFile::open(folder / "m.safetensors");
  EXPECT_EQ(file.tensors().size(), 11u);
  for (const SafetensorsTensor& tensor : file.tensors()) {
    EXPECT_EQ(tensor.name, to_string(tensor.dtype));
    EXPECT_EQ(tensor.shape, (Shape{2, 3}));
    EXPECT_EQ(tensor.data.size(), static_cast<size_t>(storage_bytes(tensor.dtype, 6)));
    const auto offset = static_cast<size_t>(tensor.data.data() - tensor.file->bytes().data());
    EXPECT_EQ(offset % static_cast<size_t>(info(tensor.dtype).block_bytes), 0u) << tensor.name;
  }
}

TEST(SafetensorsWriter, WhatCannotBeWrittenIsRefused) {
  const TemporaryFolder folder;
  SafetensorsWriter writer;
  writer.add_tensor("a", DType::u8, {2}, bytes_of("ab"));
  EXPECT_THAT(message_of(ErrorCode::invalid_argument, [&] { writer.add_tensor("a", DType::u8, {2}, bytes_of("ab")); }), HasSubstr("'a'"));
  message_of(ErrorCode::invalid_argument, [&] { writer.add_tensor("b", DType::f32, {2}, bytes_of("ab")); });
  message_of(ErrorCode::invalid_argument, [&] { writer.add_tensor("__metadata__", DType::u8, {2}, bytes_of("ab")); });
  EXPECT_THAT(message_of(ErrorCode::invalid_argument, [&] { writer.add_tensor("\xff", DType::u8, {2}, bytes_of("ab")); }),
              HasSubstr("\\xff"));
  EXPECT_THAT(message_of(ErrorCode::unsupported, [&] { writer.add_tensor("q", DType::q8_0, {32}, bytes_of("ab")); }), HasSubstr("q8_0"));
  writer.add_metadata("k", "v");
  message_of(ErrorCode::invalid_argument, [&] { writer.add_metadata("k", "v"); });
  message_of(ErrorCode::invalid_argument, [&] { writer.add_metadata("l", "\xff"); });
  SafetensorsWriter few;
  few.add_tensor("few", DType::u8, {3}, [](const SafetensorsWriter::Sink& sink) { sink(bytes_of("ab")); });
  EXPECT_THAT(message_of(ErrorCode::invalid_argument, [&] { few.write(folder / "few"); }), HasSubstr("'few': 1 bytes were not given"));
  SafetensorsWriter many;
  many.add_tensor("many", DType::u8, {3}, [](const SafetensorsWriter::Sink& sink) { sink(bytes_of("abcd")); });
  message_of(ErrorCode::invalid_argument, [&] { many.write(folder / "many"); });
  EXPECT_TRUE(folder.names().empty());
}

// Files that the reference implementation wrote: reading and writing them gives their bytes.
TEST(SafetensorsWriter, RewritesFilesOfTheReferenceImplementationByteForByte) {
  const TemporaryFolder folder;
  for (const char* name : {"data/fixtures/burn-safetensors/multi_layer.safetensors", "data/fixtures/candle/csm-voices.safetensors",
                           "data/fixtures/candle/whisper_mel_filters.safetensors", "data/fixtures/candle/jfk-codes.safetensors",
                           "data/mnist/mnist.safetensors"}) {
    const auto path = shared_data(name);
    if (!path) GTEST_SKIP() << kSharedDataMissing;
    const SafetensorsFile file = SafetensorsFile::open(*path);
    SafetensorsWriter writer;
    for (const SafetensorsTensor& tensor : file.tensors()) writer.add_tensor(tensor.name, tensor.dtype, tensor.shape, tensor.data);
    writer.write(folder / "copy.safetensors");
    EXPECT_TRUE(text_of(folder / "copy.safetensors") == text_of(*path)) << name;
  }
}

TEST(ShardedSafetensors, ShardsComeBackAsOneModel) {
  const TemporaryFolder folder;
  SafetensorsWriter writer;
  writer.add_tensor("a", DType::u8, {4}, bytes_of("aaaa"));
  writer.add_tensor("b", DType::u8, {4}, bytes_of("bbbb"));
  writer.add_tensor("large", DType::u8, {12}, bytes_of("llllllllllll"));
  writer.add_tensor("c", DType::u8, {2}, bytes_of("cc"));
  const std::filesystem::path index = writer.write_sharded(folder.path(), 8);
  EXPECT_EQ(index.filename(), "model.safetensors.index.json");
  EXPECT_THAT(folder.names(), UnorderedElementsAre("model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors",
                                                   "model-00003-of-00003.safetensors", "model.safetensors.index.json"));
  EXPECT_EQ(text_of(index),
            "{\n  \"metadata\": {\n    \"total_size\": 22\n  },\n  \"weight_map\": {\n"
            "    \"a\": \"model-00001-of-00003.safetensors\",\n    \"b\": \"model-00001-of-00003.safetensors\",\n"
            "    \"c\": \"model-00003-of-00003.safetensors\",\n    \"large\": \"model-00002-of-00003.safetensors\"\n  }\n}\n");
  for (const std::filesystem::path& path : {index, folder.path()}) {
    const ShardedSafetensors model = ShardedSafetensors::open(path);
    EXPECT_EQ(model.files().size(), 3u);
    EXPECT_EQ(model.tensors().size(), 4u);
    EXPECT_EQ(std::memcmp(model.get("large").data.data(), "llllllllllll", 12), 0);
    EXPECT_EQ(model.find("d"), nullptr);
    EXPECT_THAT(message_of(ErrorCode::not_found, [&] { static_cast<void>(model.get("d")); }), HasSubstr("no tensor 'd'"));
  }
}

TEST(ShardedSafetensors, AModelThatFitsIsOneFile) {
  const TemporaryFolder folder;
  SafetensorsWriter writer;
  writer.add_tensor("a", DType::u8, {4}, bytes_of("aaaa"));
  EXPECT_EQ(writer.write_sharded(folder.path(), 4), folder / "model.safetensors");
  EXPECT_THAT(folder.names(), UnorderedElementsAre("model.safetensors"));
  EXPECT_EQ(ShardedSafetensors::open(folder.path()).tensors().size(), 1u);
}

TEST(ShardedSafetensors, BadIndexesAreRefused) {
  const TemporaryFolder folder;
  const auto open = [&](std::string_view index) {
    write_text(folder / "i.json", index);
    static_cast<void>(ShardedSafetensors::open(folder / "i.json"));
  };
  const auto corrupt = [&](std::string_view index) { return message_of(ErrorCode::corrupt_file, [&] { open(index); }); };
  SafetensorsWriter one;
  one.add_tensor("a", DType::u8, {1}, bytes_of("a"));
  one.write(folder / "1.safetensors");
  SafetensorsWriter two;
  two.add_tensor("b", DType::u8, {1}, bytes_of("b"));
  two.write(folder / "2.safetensors");
  two.add_tensor("a", DType::u8, {1}, bytes_of("a"));
  two.write(folder / "3.safetensors");
  open(R"({"weight_map":{"a":"1.safetensors","b":"2.safetensors"}})");
  // A tensor that the index does not name is there as well.
  open(R"({"weight_map":{"a":"3.safetensors"}})");

  EXPECT_THAT(message_of(ErrorCode::not_found, [&] { open(R"({"weight_map":{"a":"9.safetensors"}})"); }),
              HasSubstr("9.safetensors: the shard is missing"));
  EXPECT_THAT(corrupt(R"({"weight_map":{"a":"1.safetensors","b":"3.safetensors"}})"), HasSubstr("tensor 'a' is in "));
  EXPECT_THAT(corrupt(R"({"weight_map":{"a":"1.safetensors","c":"2.safetensors"}})"),
              HasSubstr("tensor 'c' is not in its shard '2.safetensors'"));
  EXPECT_THAT(corrupt(R"({"weight_map":{"a":"2.safetensors","b":"1.safetensors"}})"), HasSubstr("not in its shard"));
  EXPECT_THAT(corrupt(R"({"weight_map":{"a":"1.safetensors","a":"2.safetensors"}})"), HasSubstr("'a' stands there twice"));
  for (const char* shard : {"../1.safetensors", "/etc/passwd", "x/1.safetensors", "..", ".", "", "x\\\\1.safetensors", "C:1", "1\\u0000"}) {
    EXPECT_THAT(corrupt(fmt::format(R"({{"weight_map":{{"a":"{}"}}}})", shard)), HasSubstr("no file beside the index")) << shard;
  }
  EXPECT_THAT(corrupt(R"({"weight_map":{"a":1}})"), HasSubstr("the shard of tensor 'a' is no string"));
  corrupt(R"({"weight_map":[]})");
  corrupt(R"({"weights":{}})");
  corrupt("[]");
  corrupt("{");
  corrupt("{\"weight_map\":" + std::string(100'000, '['));
  message_of(ErrorCode::not_found, [&] { static_cast<void>(ShardedSafetensors::open(folder.path())); });
}

TEST(ShardedSafetensors, SeveralFilesWithoutAnIndexAreOneModel) {
  const TemporaryFolder folder;
  SafetensorsWriter one;
  one.add_tensor("a", DType::u8, {1}, bytes_of("a"));
  one.write(folder / "1.safetensors");
  SafetensorsWriter two;
  two.add_tensor("b", DType::u8, {1}, bytes_of("b"));
  two.write(folder / "2.safetensors");
  const std::filesystem::path paths[] = {folder / "1.safetensors", folder / "2.safetensors"};
  EXPECT_EQ(ShardedSafetensors::open_files(paths).get("b").file->path(), paths[1]);
  const std::filesystem::path twice[] = {paths[0], paths[0]};
  EXPECT_THAT(message_of(ErrorCode::corrupt_file, [&] { static_cast<void>(ShardedSafetensors::open_files(twice)); }),
              HasSubstr("tensor 'a' is in "));
}

}  // namespace
}  // namespace wick
