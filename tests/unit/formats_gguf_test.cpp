#include "wick/formats/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "unit/gguf_samples.h"
#include "unit/shared_data.h"
#include "wick/base/error.h"
#include "wick/formats/gguf_type.h"

namespace wick {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Bytes of a GGUF file put together field by field, right or wrong.
class RawFile {
 public:
  RawFile() { text("GGUF").put<uint32_t>(3); }
  RawFile(uint64_t tensors, uint64_t metadata) : RawFile() { put(tensors).put(metadata); }

  template <class T>
  RawFile& put(T value) {
    return raw(std::as_bytes(std::span(&value, 1)));
  }
  RawFile& text(std::string_view value) { return raw(std::as_bytes(std::span(value))); }
  RawFile& string(std::string_view value) { return put<uint64_t>(value.size()).text(value); }
  RawFile& tensor(std::string_view name, std::vector<uint64_t> dims, uint32_t type, uint64_t offset) {
    string(name).put(static_cast<uint32_t>(dims.size()));
    for (const uint64_t extent : dims) put(extent);
    return put(type).put(offset);
  }
  RawFile& pad(size_t bytes, size_t alignment = 32) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment + bytes);
    return *this;
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  RawFile& raw(std::span<const std::byte> bytes) {
    const size_t end = bytes_.size();
    bytes_.resize(end + bytes.size());
    if (!bytes.empty()) std::memcpy(bytes_.data() + end, bytes.data(), bytes.size());
    return *this;
  }
  std::vector<std::byte> bytes_;
};

struct RefusedFile {
  ErrorCode code;
  std::string message;
};

template <class Action>
RefusedFile refused_file(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return {error.code(), error.what()};
  }
  ADD_FAILURE() << "nothing was refused";
  return {ErrorCode::invalid_argument, ""};
}

void expect_corrupt(const RawFile& file, const std::vector<std::string>& parts) {
  const RefusedFile refused = refused_file([&] { static_cast<void>(GgufFile::parse(file.bytes(), "model.gguf")); });
  EXPECT_EQ(refused.code, ErrorCode::corrupt_file) << refused.message;
  EXPECT_THAT(refused.message, HasSubstr("model.gguf: "));
  EXPECT_THAT(refused.message, HasSubstr(" at byte "));
  EXPECT_THAT(refused.message, HasSubstr("; the file is truncated or corrupt: download it again"));
  for (const std::string& part : parts) EXPECT_THAT(refused.message, HasSubstr(part));
}

TEST(GgufReader, ReadsEveryMetadataType) {
  const auto bytes = written_bytes(all_types_writer());
  const GgufFile file = GgufFile::parse(bytes, "types");
  EXPECT_EQ(file.version(), 3u);
  EXPECT_EQ(file.get_uint("u8"), 255u);
  EXPECT_EQ(std::get<int8_t>(file.find("i8")->value), -128);
  EXPECT_EQ(file.get_uint("u16"), 65535u);
  EXPECT_EQ(std::get<int16_t>(file.find("i16")->value), -32768);
  EXPECT_EQ(file.get_uint("u32"), 4294967295u);
  EXPECT_EQ(file.get_float("i32"), -2147483648.0);
  EXPECT_EQ(file.get_float("f32"), static_cast<double>(0.1f));
  EXPECT_EQ(file.find_bool("bool"), true);
  EXPECT_EQ(file.get_string("string"), "text with \xc3\xa4 and a bad byte \xff");
  EXPECT_EQ(file.get_uint("u64"), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(std::get<int64_t>(file.find("i64")->value), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(file.get_float("f64"), 0.1);
  EXPECT_EQ(file.get_array("array.i16").to_vector<int32_t>(), (std::vector<int32_t>{-32768, 0, 32767}));
  EXPECT_EQ(file.get_array("array.f32").to_vector<float>(), (std::vector<float>{-1.5f, 0.0f, 3.25f}));
  EXPECT_EQ(file.get_array("array.bool").to_vector<uint32_t>(), (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(file.get_array("array.string").strings, (std::vector<std::string_view>{"one", "", "drei"}));
  EXPECT_EQ(file.get_array("array.empty").size, 0u);
  const GgufArray& nested = file.get_array("array.array");
  ASSERT_EQ(nested.arrays.size(), 2u);
  EXPECT_EQ(nested.arrays[0].to_vector<int64_t>(), (std::vector<int64_t>{-32768, 0, 32767}));
  EXPECT_EQ(nested.arrays[1].strings[0], "inner");
}

TEST(GgufReader, KeepsTheFilesOrder) {
  const auto bytes = written_bytes(vocabulary_writer());
  const GgufFile file = GgufFile::parse(bytes, "order");
  EXPECT_EQ(file.metadata()[0].first, "general.alignment");
  EXPECT_EQ(file.metadata()[1].first, "general.architecture");
  EXPECT_EQ(file.metadata().back().first, "tokenizer.ggml.add_bos_token");
}

TEST(GgufReader, ReadsVersion2AsVersion3) {
  auto bytes = written_bytes(vocabulary_writer());
  bytes[4] = std::byte{2};
  const GgufFile file = GgufFile::parse(bytes, "v2");
  EXPECT_EQ(file.version(), 2u);
  EXPECT_EQ(file.tensors().size(), 1u);
  EXPECT_EQ(file.alignment(), 64u);
}

TEST(GgufReader, ShapesAreOutermostFirst) {
  RawFile raw(1, 0);
  raw.tensor("w", {4, 3, 2}, 0, 0).pad(96);
  const GgufFile file = GgufFile::parse(raw.bytes(), "shape");
  EXPECT_EQ(file.tensors()[0].shape, (Shape{2, 3, 4}));
  EXPECT_EQ(file.find_tensor("w"), &file.tensors()[0]);
  EXPECT_EQ(file.find_tensor("v"), nullptr);
}

TEST(GgufReader, BytesNeedNoAlignment) {
  const auto bytes = written_bytes(quantized_writer());
  std::vector<std::byte> shifted(bytes.size() + 1);
  std::memcpy(shifted.data() + 1, bytes.data(), bytes.size());
  const GgufFile file = GgufFile::parse(std::span(shifted).subspan(1), "shifted");
  std::vector<float> row(256);
  find_block_format(DType::q6_k)->unpack(file.find_tensor("weight.q6_k")->data.data(), row);
  EXPECT_NEAR(row[1], (37 - 128) / 64.0, 0.05);
}

TEST(GgufReader, EveryTruncationIsCorruptAndNamesAnOffset) {
  for (const GgufWriter& writer : {quantized_writer(), vocabulary_writer(), all_types_writer()}) {
    const auto bytes = written_bytes(writer);
    static_cast<void>(GgufFile::parse(bytes, "whole"));
    for (size_t length = 0; length < bytes.size(); ++length) {
      // A copy of exactly that length, so that a sanitizer sees a read beyond it.
      const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
      const RefusedFile refused = refused_file([&] { static_cast<void>(GgufFile::parse(cut, "cut.gguf")); });
      EXPECT_EQ(refused.code, ErrorCode::corrupt_file) << length;
      EXPECT_THAT(refused.message, AllOf(HasSubstr("cut.gguf: "), HasSubstr(" at byte "), HasSubstr("truncated"))) << length;
    }
  }
}

TEST(GgufReader, TruncatedHeaderNamesTheOffset) {
  RawFile raw;
  raw.put<uint32_t>(1);
  expect_corrupt(raw, {"tensor count at byte 8: 8 bytes needed, 4 left"});
}

TEST(GgufReader, WrongMagicSaysWhatTheFileLooksLike) {
  const auto message = [](std::string_view start) {
    return refused_file([&] { static_cast<void>(GgufFile::parse(std::as_bytes(std::span(start)), "x")); }).message;
  };
  EXPECT_THAT(message("FUGG\1\0\0\0"), AllOf(HasSubstr("magic at byte 0"), HasSubstr("starts with 'FUGG'"), HasSubstr("backwards")));
  EXPECT_THAT(message("PK\3\4rest"), AllOf(HasSubstr("'PK\\x03\\x04'"), HasSubstr("PyTorch")));
  EXPECT_THAT(message(std::string_view("\x40\0\0\0\0\0\0\0{\"a\":", 13)), HasSubstr("safetensors"));
  EXPECT_THAT(message("version https://git-lfs.github.com/spec/v1"), HasSubstr("git lfs pull"));
  EXPECT_THAT(message("<!DOCTYPE html>"), HasSubstr("web page"));
  EXPECT_THAT(message("gguf"), HasSubstr("'gguf', not 'GGUF'"));
  EXPECT_THAT(message("GG"), HasSubstr("4 bytes needed, 2 left"));
  EXPECT_THAT(message("\n\n\n\n"), HasSubstr("'\\n\\n\\n\\n'"));
}

TEST(GgufReader, OtherVersionsAreUnsupported) {
  const auto refused = [](uint32_t version) {
    RawFile raw(0, 0);
    std::vector<std::byte> bytes(raw.bytes().begin(), raw.bytes().end());
    std::memcpy(bytes.data() + 4, &version, 4);
    const RefusedFile result = refused_file([&] { static_cast<void>(GgufFile::parse(bytes, "x")); });
    EXPECT_EQ(result.code, ErrorCode::unsupported);
    EXPECT_THAT(result.message, HasSubstr("version at byte 4"));
    return result.message;
  };
  EXPECT_THAT(refused(1), HasSubstr("version 1 is not supported"));
  EXPECT_THAT(refused(0x03000000), HasSubstr("big-endian"));
  EXPECT_THAT(refused(4), HasSubstr("version 4 is unknown"));
  EXPECT_THAT(refused(0), HasSubstr("version 0 is unknown"));
}

TEST(GgufReader, AbsurdCountsAreRefusedBeforeAnythingIsAllocated) {
  constexpr uint64_t kHuge = uint64_t{1} << 60;
  expect_corrupt(RawFile(kHuge, 0), {"tensor count at byte 8", "1152921504606846976 entries"});
  expect_corrupt(RawFile(0, kHuge), {"metadata count at byte 16"});
  expect_corrupt(RawFile(0, ~uint64_t{0}), {"metadata count at byte 16"});
  const auto array = [](uint32_t element_type, uint64_t size) {
    RawFile raw(0, 1);
    return raw.string("list").put<uint32_t>(9).put(element_type).put(size).put<uint64_t>(0);
  };
  for (const uint32_t type : {0u, 7u, 8u, 9u, 12u}) {
    expect_corrupt(array(type, kHuge), {"array length of 'list' at byte 44"});
    expect_corrupt(array(type, ~uint64_t{0}), {"array length of 'list' at byte 44"});
  }
  RawFile key(0, 1);
  expect_corrupt(key.put(~uint64_t{0}).text("0123456789"), {"metadata key at byte 24: a string of 18446744073709551615 bytes, 10 left"});
}

TEST(GgufReader, MetadataIsChecked) {
  RawFile twice(0, 2);
  twice.string("same").put<uint32_t>(4).put<uint32_t>(1).string("same").put<uint32_t>(4).put<uint32_t>(2);
  expect_corrupt(twice, {"'same' at byte 44", "duplicate key"});
  RawFile empty(0, 1);
  expect_corrupt(empty.string("").put<uint32_t>(4).put<uint32_t>(1), {"metadata key 0 at byte 24: the key is empty"});
  RawFile type(0, 1);
  expect_corrupt(type.string("key").put<uint32_t>(13).put<uint32_t>(1), {"type of 'key' at byte 35: metadata type 13 is unknown"});
  RawFile boolean(0, 1);
  expect_corrupt(boolean.string("flag").put<uint32_t>(7).put<uint8_t>(2), {"value of 'flag' at byte 40: a boolean is 0 or 1, not 2"});
  RawFile line(0, 1);
  expect_corrupt(line.string("a\nb").put<uint32_t>(99).put<uint32_t>(1), {"'a\\nb'"});
}

TEST(GgufReader, ArraysMayBeNestedOnlySoDeep) {
  RawFile raw(0, 1);
  raw.string("deep").put<uint32_t>(9);
  for (int depth = 0; depth < 2000; ++depth) raw.put<uint32_t>(9).put<uint64_t>(1);
  expect_corrupt(raw.put<uint32_t>(0).put<uint64_t>(0), {"array of 'deep'", "nested more than 8 deep"});
}

TEST(GgufReader, AlignmentMustBeAPowerOfTwo) {
  for (const uint32_t alignment : {0u, 1u, 4u, 24u, 1u << 30}) {
    RawFile raw(0, 1);
    expect_corrupt(raw.string("general.alignment").put<uint32_t>(4).put(alignment),
                   {"'general.alignment' at byte", std::to_string(alignment)});
  }
  RawFile raw(1, 1);
  raw.string("general.alignment").put<uint32_t>(4).put<uint32_t>(4096).tensor("w", {8}, 0, 0).pad(32, 4096);
  EXPECT_EQ(GgufFile::parse(raw.bytes(), "x").tensors()[0].data.data(), raw.bytes().data() + 4096);
}

TEST(GgufReader, TensorsAreChecked) {
  const auto one = [](std::vector<uint64_t> dims, uint32_t type, uint64_t offset) {
    RawFile raw(1, 0);
    return raw.tensor("w", std::move(dims), type, offset).pad(64);
  };
  EXPECT_EQ(GgufFile::parse(one({8, 2}, 0, 0).bytes(), "good").tensors().size(), 1u);
  EXPECT_EQ(GgufFile::parse(one({}, 0, 0).bytes(), "scalar").tensors()[0].shape.rank(), 0);
  EXPECT_TRUE(GgufFile::parse(one({8, 0}, 0, 0).bytes(), "empty").tensors()[0].data.empty());
  expect_corrupt(one({1, 1, 1, 1, 1, 1, 1, 1, 1}, 0, 0), {"rank of tensor 'w' at byte 33: 9 is above 8"});
  expect_corrupt(one({uint64_t{1} << 63}, 0, 0), {"dimension 0 of tensor 'w' at byte 37"});
  expect_corrupt(one({uint64_t{1} << 32, uint64_t{1} << 32}, 0, 0), {"'w'", "their product exceeds 2^63 - 1"});
  expect_corrupt(one({uint64_t{1} << 62}, 0, 0), {"'w'", "takes more bytes than the file has"});
  expect_corrupt(one({17, 2}, 2, 0), {"'w'", "rows of 17 elements are no multiple of Q4_0's block of 32"});
  expect_corrupt(one({8}, 0, 4), {"offset of tensor 'w'", "4 is no multiple of the alignment 32"});
  expect_corrupt(one({8}, 0, 64), {"'w'", "offset 64", "end beyond the file's"});
  expect_corrupt(one({8}, 0, ~uint64_t{31}), {"'w'", "end beyond the file's"});
  RawFile unnamed(1, 0);
  expect_corrupt(unnamed.tensor("", {8}, 0, 0).pad(32), {"tensor 0 at byte 24: the name is empty"});
}

TEST(GgufReader, UnknownTensorTypeNamesTensorNumberAndOffset) {
  const auto refused = [](uint32_t type) {
    RawFile raw(1, 0);
    raw.tensor("w", {8}, type, 0).pad(32);
    return refused_file([&] { static_cast<void>(GgufFile::parse(raw.bytes(), "x")); });
  };
  EXPECT_EQ(refused(999).code, ErrorCode::unsupported);
  EXPECT_THAT(refused(999).message, HasSubstr("type of tensor 'w' at byte 45: type 999 is unknown"));
  EXPECT_THAT(refused(31).message, HasSubstr("type 31 (Q4_0_4_4) is not supported"));
}

// 128 codes in 32 bytes, and 32 bytes behind the last block for the scale: 2 · 128 elements take 96 bytes.
TEST(GgufReader, I2SHasItsScaleBehindTheBlocks) {
  constexpr uint32_t kI2S = 36;
  const auto file = [](std::vector<uint64_t> dims, size_t bytes) {
    RawFile raw(1, 0);
    return raw.tensor("w", std::move(dims), kI2S, 0).pad(bytes);
  };
  const RawFile good = file({128, 2}, 96);
  const GgufFile parsed = GgufFile::parse(good.bytes(), "x");
  EXPECT_EQ(parsed.tensors()[0].dtype, DType::i2_s);
  EXPECT_EQ(parsed.tensors()[0].data.size(), 96u);
  expect_corrupt(file({128, 2}, 64), {"tensor 'w'", "its 96 bytes", "end beyond the file"});
  expect_corrupt(file({192, 2}, 256), {"tensor 'w'", "rows of 192 elements are no multiple of I2_S's block of 128"});
  RawFile next(2, 0);
  expect_corrupt(next.tensor("w", {128, 2}, kI2S, 0).tensor("v", {8}, 0, 64).pad(128), {"tensor 'v'", "overlaps tensor 'w'"});
}

TEST(GgufReader, SignedBytesAndTheOtherPlainNumbersAreRead) {
  const std::pair<uint32_t, DType> types[] = {{24, DType::i8}, {25, DType::i16}, {26, DType::i32}, {27, DType::i64}, {28, DType::f64}};
  for (const auto& [id, dtype] : types) {
    RawFile raw(1, 0);
    raw.tensor("w", {4}, id, 0).pad(32);
    const GgufFile file = GgufFile::parse(raw.bytes(), "x");
    EXPECT_EQ(file.tensors()[0].dtype, dtype);
    EXPECT_EQ(file.tensors()[0].data.size(), static_cast<size_t>(storage_bytes(dtype, 4)));
  }
}

TEST(GgufReader, TensorsMayNotOverlapOrShareAName) {
  const auto two = [](const char* second, uint64_t first_offset, uint64_t second_offset) {
    RawFile raw(2, 0);
    return raw.tensor("a", {16}, 0, first_offset).tensor(second, {16}, 0, second_offset).pad(128);
  };
  EXPECT_EQ(GgufFile::parse(two("b", 64, 0).bytes(), "any order").tensors().size(), 2u);
  expect_corrupt(two("b", 0, 32), {"tensor 'b'", "overlaps tensor 'a'"});
  expect_corrupt(two("b", 0, 0), {"overlaps"});
  expect_corrupt(two("a", 0, 64), {"tensor 'a'", "duplicate name"});
}

TEST(GgufReader, TypedAccessNamesFileKeyAndKind) {
  const auto bytes = written_bytes(all_types_writer());
  const GgufFile file = GgufFile::parse(bytes, "typed.gguf");
  const RefusedFile absent = refused_file([&] { static_cast<void>(file.get_uint("llama.block_count")); });
  EXPECT_EQ(absent.code, ErrorCode::not_found);
  EXPECT_THAT(absent.message, HasSubstr("typed.gguf: metadata 'llama.block_count' is absent"));
  EXPECT_EQ(file.find_uint("llama.block_count"), std::nullopt);
  const RefusedFile negative = refused_file([&] { static_cast<void>(file.find_uint("i8")); });
  EXPECT_EQ(negative.code, ErrorCode::corrupt_file);
  EXPECT_THAT(negative.message,
              AllOf(HasSubstr("typed.gguf: metadata 'i8' at byte "), HasSubstr("is the i8 -128, but an integer that is not negative")));
  EXPECT_THAT(refused_file([&] { static_cast<void>(file.get_string("u8")); }).message, HasSubstr("a string is needed"));
  EXPECT_THAT(refused_file([&] { static_cast<void>(file.get_float("bool")); }).message, HasSubstr("is the bool true"));
  EXPECT_THAT(refused_file([&] { static_cast<void>(file.find_bool("u8")); }).message, HasSubstr("a boolean is needed"));
  EXPECT_THAT(refused_file([&] { static_cast<void>(file.find_array("string")); }).message, HasSubstr("an array is needed"));
  EXPECT_EQ(refused_file([&] { static_cast<void>(file.get_array("array.string").to_vector<float>()); }).code, ErrorCode::dtype_mismatch);
  EXPECT_EQ(refused_file([&] { static_cast<void>(file.get_array("array.u64").to_vector<int32_t>()); }).code, ErrorCode::dtype_mismatch);
  EXPECT_EQ(refused_file([&] { static_cast<void>(file.get_array("array.f32").to_vector<int32_t>()); }).code, ErrorCode::dtype_mismatch);
  EXPECT_EQ(refused_file([&] { static_cast<void>(file.get_array("array.f64").to_vector<int64_t>()); }).code, ErrorCode::dtype_mismatch);
}

TEST(GgufReader, OpeningWhatIsNoFileIsRefused) {
  const TemporaryFolder folder;
  EXPECT_EQ(refused_file([&] { static_cast<void>(GgufFile::open(folder / "absent.gguf")); }).code, ErrorCode::not_found);
  EXPECT_EQ(refused_file([&] { static_cast<void>(GgufFile::open(folder.path())); }).code, ErrorCode::invalid_argument);
  write_bytes(folder / "empty.gguf", {});
  EXPECT_EQ(refused_file([&] { static_cast<void>(GgufFile::open(folder / "empty.gguf")); }).code, ErrorCode::corrupt_file);
}

TEST(GgufReader, TensorsKeepTheMappingAlive) {
  const TemporaryFolder folder;
  quantized_writer().write(folder / "model.gguf");
  GgufTensor tensor;
  {
    const GgufFile file = GgufFile::open(folder / "model.gguf");
    tensor = file.tensors()[0];
    EXPECT_EQ(file.file_bytes(), std::filesystem::file_size(folder / "model.gguf"));
  }
  std::vector<float> row(256);
  find_block_format(tensor.dtype)->unpack(tensor.data.data(), row);
  EXPECT_EQ(row[0], -2.0f);
}

TEST(GgufType, EveryGgmlNumberGoesBothWays) {
  int known = 0;
  for (uint32_t id = 0; id < 100; ++id) {
    const auto dtype = dtype_from_ggml_id(id);
    if (!dtype) continue;
    ++known;
    EXPECT_EQ(ggml_id(*dtype), id);
    EXPECT_EQ(ggml_name(*dtype), ggml_name_of_id(id));
  }
  EXPECT_EQ(known, 36);
  EXPECT_EQ(ggml_name(DType::q4_k), "Q4_K");
  EXPECT_EQ(ggml_id(DType::u8), std::nullopt);
}

TEST(GgufFixtures, EachParsesOrGivesOneClearError) {
  const auto folder = shared_data("data/fixtures/gguf-tiny");
  if (!folder) GTEST_SKIP() << kSharedDataMissing;
  int parsed = 0;
  int refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(*folder)) {
    try {
      static_cast<void>(GgufFile::open(entry.path()));
      ++parsed;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr(entry.path().string()), HasSubstr(" at byte "), HasSubstr("; "), Not(HasSubstr("\n"))));
      ++refused;
    }
  }
  EXPECT_EQ(refused, 3);  // a wrong magic, an unknown metadata type, an impossible length
  EXPECT_EQ(parsed, 17);
}

TEST(GgufFixtures, TheDefaultModelHasItsTensors) {
  const GgufFile file = GgufFile::open(source_file("models/novelist-20m-q8_0.gguf"));
  EXPECT_EQ(file.get_string("general.architecture"), "llama");
  EXPECT_EQ(file.find_tensor("token_embd.weight")->shape, (Shape{8192, 512}));
  EXPECT_EQ(file.find_tensor("token_embd.weight")->dtype, DType::q8_0);
  EXPECT_EQ(file.get_array("tokenizer.ggml.tokens").strings.size(), 8192u);
}

}  // namespace
}  // namespace wick
