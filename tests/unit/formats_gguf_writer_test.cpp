#include "wick/formats/gguf_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "unit/gguf_samples.h"
#include "unit/message_of.h"
#include "unit/shared_data.h"
#include "wick/base/error.h"
#include "wick/formats/gguf.h"

namespace wick {
namespace {

using ::testing::HasSubstr;

TEST(GgufWriter, WritesTheBytesThatTheFormatPrescribes) {
  GgufWriter writer;
  writer.add_uint("k", 7);
  static constexpr float kValues[2] = {1.0f, 2.0f};
  writer.add_tensor("t", DType::f32, {1, 2}, std::as_bytes(std::span(kValues)));
  const auto bytes = written_bytes(writer);
  const std::string expected = std::string("GGUF\3\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0", 24) +               // version, tensors, metadata
                               std::string("\1\0\0\0\0\0\0\0k\4\0\0\0\7\0\0\0", 17) +                          // k: u32 7
                               std::string("\1\0\0\0\0\0\0\0t\2\0\0\0\2\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0", 29) +  // t: rank 2, [2, 1]
                               std::string("\0\0\0\0\0\0\0\0\0\0\0\0", 12) + std::string(14, '\0') +           // f32 at 0; padding to 96
                               std::string("\0\0\x80\x3f\0\0\0\x40", 8) + std::string(24, '\0');
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), expected);
}

TEST(GgufWriter, CopyOfAFileHasItsBytes) {
  const auto bytes = written_bytes(quantized_writer());
  const GgufFile file = GgufFile::parse(bytes, "source");
  GgufWriter copy;
  for (const auto& [key, value] : file.metadata()) copy.add(key, value);
  for (const GgufTensor& tensor : file.tensors()) copy.add_tensor(tensor.name, tensor.dtype, tensor.shape, tensor.data);
  EXPECT_EQ(written_bytes(copy), bytes);
}

TEST(GgufWriter, CopyOfEveryMetadataTypeHasItsBytes) {
  const auto bytes = written_bytes(all_types_writer());
  const GgufFile file = GgufFile::parse(bytes, "source");
  GgufWriter copy;
  for (const auto& [key, value] : file.metadata()) copy.add(key, value);
  EXPECT_EQ(written_bytes(copy), bytes);
}

TEST(GgufWriter, CopyOfTheDefaultModelHasItsBytes) {
  const auto path = source_file("models/novelist-20m-q8_0.gguf");
  const GgufFile file = GgufFile::open(path);
  GgufWriter copy;
  for (const auto& [key, value] : file.metadata()) copy.add(key, value);
  for (const GgufTensor& tensor : file.tensors()) copy.add_tensor(tensor.name, tensor.dtype, tensor.shape, tensor.data);
  EXPECT_EQ(written_bytes(copy), read_bytes(path));
}

TEST(GgufWriter, AlignmentFollowsTheMetadata) {
  const auto bytes = written_bytes(vocabulary_writer());
  const GgufFile file = GgufFile::parse(bytes, "aligned");
  EXPECT_EQ(file.alignment(), 64u);
  EXPECT_EQ((file.tensors()[0].data.data() - bytes.data()) % 64, 0);
}

TEST(GgufWriter, TensorMayComeInPieces) {
  GgufWriter writer;
  std::vector<std::byte> data(100'000);
  for (size_t index = 0; index < data.size(); ++index) data[index] = static_cast<std::byte>(index * 31);
  writer.add_tensor("w", DType::f32, {25'000}, [&](const GgufWriter::Sink& sink) {
    for (size_t at = 0; at < data.size(); at += 777) sink(std::span(data).subspan(at, std::min<size_t>(777, data.size() - at)));
  });
  const auto bytes = written_bytes(writer);
  const GgufFile file = GgufFile::parse(bytes, "pieces");
  EXPECT_TRUE(std::equal(data.begin(), data.end(), file.tensors()[0].data.begin()));
}

TEST(GgufWriter, NothingHalfWrittenIsLeft) {
  const TemporaryFolder folder;
  const auto path = folder / "model.gguf";
  vocabulary_writer().write(path);
  const auto before = read_bytes(path);
  GgufWriter failing;
  failing.add_tensor("w", DType::f32, {8}, [](const GgufWriter::Sink& sink) {
    sink(std::vector<std::byte>(16));
    throw std::runtime_error("out of luck");
  });
  EXPECT_THROW(failing.write(path), std::runtime_error);
  EXPECT_EQ(read_bytes(path), before);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"model.gguf"});
}

TEST(GgufWriter, ProducerMustHandOutTheShapesBytes) {
  const TemporaryFolder folder;
  const auto write = [&](size_t bytes) {
    GgufWriter writer;
    writer.add_tensor("w", DType::f32, {8}, [bytes](const GgufWriter::Sink& sink) { sink(std::vector<std::byte>(bytes)); });
    writer.write(folder / "model.gguf");
  };
  EXPECT_THAT(message_of(ErrorCode::invalid_argument, [&] { write(31); }),
              HasSubstr("tensor 'w' at byte 64: only 31 bytes of data were given, but shape [8] as f32 takes 32"));
  EXPECT_THAT(message_of(ErrorCode::invalid_argument, [&] { write(33); }), HasSubstr("at least 33 bytes"));
  EXPECT_TRUE(folder.names().empty());
}

TEST(GgufWriter, WrongEntriesAreRefused) {
  GgufWriter writer;
  writer.add_uint("key", 1);
  EXPECT_THAT(message_of(ErrorCode::invalid_argument, [&] { writer.add_uint("key", 2); }), HasSubstr("'key' is there already"));
  EXPECT_THAT(message_of(ErrorCode::invalid_argument, [&] { writer.add_uint("", 2); }), HasSubstr("0 bytes"));
  EXPECT_THAT(message_of(ErrorCode::invalid_argument, [&] { writer.add_uint("general.alignment", 48); }), HasSubstr("power of two"));
  GgufArray wrong = string_array({"a"});
  wrong.size = 2;
  EXPECT_THAT(message_of(ErrorCode::invalid_argument, [&] { writer.add("wrong", {wrong}); }), HasSubstr("an array of size 2 holds 1"));
  EXPECT_THAT(message_of(ErrorCode::unsupported, [&] { writer.add_tensor("w", DType::u8, {8}, std::span<const std::byte>()); }),
              HasSubstr("cannot hold u8"));
  EXPECT_THAT(message_of(ErrorCode::invalid_argument, [&] { writer.add_tensor("w", DType::q4_k, {2, 128}, std::span<const std::byte>()); }),
              HasSubstr("128"));
  EXPECT_THAT(message_of(ErrorCode::invalid_argument,
                         [&] { writer.add_tensor(std::string(64, 'n'), DType::f32, {8}, std::span<const std::byte>()); }),
              HasSubstr("64 bytes"));
  EXPECT_EQ(GgufFile::parse(written_bytes(writer), "x").metadata().size(), 1u);
}

TEST(GgufWriter, TargetThatCannotBeWrittenIsNamed) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of(ErrorCode::not_found, [&] { vocabulary_writer().write(folder / "none" / "model.gguf"); }),
              HasSubstr("none/model.gguf"));
  EXPECT_THAT(message_of(ErrorCode::io, [&] { vocabulary_writer().write(folder.path()); }), HasSubstr("is a directory"));
  if (std::filesystem::exists("/dev/full")) {
    EXPECT_THAT(message_of(ErrorCode::io, [&] { vocabulary_writer().write("/dev/full"); }), HasSubstr("free space on the disk"));
  }
}

// The fuzz target's seeds are these samples; where one differs, the bytes that it should have are left in the temporary folder.
TEST(GgufSeeds, AreWhatTheWriterWrites) {
  const std::pair<const char*, GgufWriter> seeds[] = {
      {"all-types.gguf", all_types_writer()},
      {"quantized.gguf", quantized_writer()},
      {"vocabulary.gguf", vocabulary_writer()},
      {"split-00001-of-00002.gguf", split_part_writer(0, 2, 2)},
      {"split-00002-of-00002.gguf", split_part_writer(1, 2, 2)},
  };
  for (const auto& [name, writer] : seeds) {
    const auto wanted = written_bytes(writer);
    EXPECT_LT(wanted.size(), 4096u) << name;
    if (read_bytes(source_file("fuzz/corpus/fuzz_gguf") / name) == wanted) continue;
    const std::filesystem::path copy = std::filesystem::path(::testing::TempDir()) / name;
    write_bytes(copy, wanted);
    ADD_FAILURE() << "fuzz/corpus/fuzz_gguf/" << name << " differs; its new bytes are in " << copy;
  }
}

}  // namespace
}  // namespace wick
