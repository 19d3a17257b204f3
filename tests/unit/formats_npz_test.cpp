#include "wick/formats/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "unit/bytes_of.h"
#include "unit/message_of.h"
#include "unit/shared_data.h"
#include "unit/temporary_folder.h"
#include "wick/base/error.h"
#include "wick/formats/zip.h"

namespace wick {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::filesystem::path archive(const std::string& name) { return source_file("tests/data/formats/npz") / name; }

template <class T>
std::vector<T> values(const NpyArray& array) {
  std::vector<T> numbers(array.data.size() / sizeof(T));
  std::memcpy(numbers.data(), array.data.data(), array.data.size());
  return numbers;
}

template <class T>
std::vector<T> counted(size_t count) {
  std::vector<T> numbers(count);
  for (size_t index = 0; index < count; ++index) numbers[index] = static_cast<T>(index);
  return numbers;
}

// What numpy.savez and numpy.savez_compressed wrote, and zipfile with zip64 throughout.
TEST(Npz, ReadsWhatNumPyWrites) {
  for (const char* name : {"stored.npz", "deflated.npz", "zip64.npz"}) {
    const NpzFile file = NpzFile::open(archive(name));
    EXPECT_THAT(file.names(), ElementsAre("x", "layer.weight", "fortran")) << name;
    EXPECT_EQ(file.header("x").dtype, DType::i64);
    EXPECT_EQ(file.header("layer.weight").shape, (Shape{300}));
    EXPECT_TRUE(file.header("fortran").fortran_order);
    EXPECT_EQ(file.read("x").shape, (Shape{2, 3}));
    EXPECT_EQ(values<int64_t>(file.read("x")), counted<int64_t>(6));
    EXPECT_EQ(values<float>(file.read("layer.weight")), counted<float>(300));
    EXPECT_EQ(values<int32_t>(file.read("fortran")), counted<int32_t>(24));
  }
}

TEST(Npz, FoldersCommentsOtherEntriesAndStreamsAreUnderstood) {
  const NpzFile others = NpzFile::open(archive("others.npz"));
  EXPECT_THAT(others.names(), ElementsAre("folder/x"));
  EXPECT_EQ(values<int64_t>(others.read("folder/x")), counted<int64_t>(6));
  EXPECT_EQ(values<int64_t>(NpzFile::open(archive("streamed.npz")).read("x")), counted<int64_t>(6));
}

TEST(Npz, WhatIsNotSupportedIsRefusedByName) {
  const auto open = [](const char* name) { static_cast<void>(NpzFile::open(archive(name))); };
  EXPECT_THAT(message_of(ErrorCode::unsupported, [&] { open("encrypted.npz"); }), HasSubstr("'x.npy' at byte 137: it is encrypted"));
  EXPECT_THAT(message_of(ErrorCode::unsupported, [&] { open("bzip2.npz"); }), HasSubstr("method 12 (bzip2)"));
  EXPECT_THAT(message_of(ErrorCode::unsupported, [&] { open("lzma.npz"); }), HasSubstr("method 14 (LZMA)"));
  EXPECT_THAT(message_of(ErrorCode::corrupt_file, [&] { open("twice.npz"); }), HasSubstr("it is there twice"));
  const NpzFile file = NpzFile::open(archive("stored.npz"));
  EXPECT_THAT(message_of(ErrorCode::not_found, [&] { static_cast<void>(file.read("y")); }), HasSubstr("no array 'y'"));
}

// A single byte changed anywhere must never give other numbers; what is not noticed is nothing that a reader looks at.
TEST(Npz, EveryChangedByteIsRefusedOrHarmless) {
  for (const char* name : {"streamed.npz", "stored.npz"}) {
    const std::vector<std::byte> good = read_bytes(archive(name));
    const NpyArray expected = NpzFile::parse(good, name).read("x");
    for (size_t index = 0; index < good.size(); ++index) {
      std::vector<std::byte> bad = good;
      bad[index] ^= std::byte{0x10};
      try {
        const NpzFile file = NpzFile::parse(bad, name);
        if (!file.contains("x")) continue;
        EXPECT_EQ(file.read("x").data, expected.data) << name << " byte " << index;
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr(name));
      }
    }
  }
}

TEST(Npz, EveryTruncationIsRefused) {
  const std::vector<std::byte> good = read_bytes(archive("deflated.npz"));
  for (size_t length = 0; length < good.size(); ++length) {
    message_of(ErrorCode::corrupt_file, [&] { static_cast<void>(NpzFile::parse(std::span(good).first(length), "a.npz")); });
  }
}

TEST(Npz, WhatIsWrittenComesBack) {
  const TemporaryFolder folder;
  const std::vector<float> numbers = counted<float>(5000);
  for (const ZipMethod method : {ZipMethod::stored, ZipMethod::deflated}) {
    NpzWriter writer(folder / "a.npz", method);
    writer.add("weights", DType::f32, {50, 100}, std::as_bytes(std::span(numbers)));
    writer.add("é", DType::u8, {}, bytes_of("7"));
    writer.add("none", DType::i64, {0}, {});
    EXPECT_THAT(message_of(ErrorCode::invalid_argument, [&] { writer.add("none", DType::i64, {0}, {}); }), HasSubstr("'none.npy'"));
    EXPECT_THAT(message_of(ErrorCode::unsupported, [&] { writer.add("b", DType::bf16, {0}, {}); }), HasSubstr("array 'b'"));
    message_of(ErrorCode::invalid_argument, [&] { writer.add("c", DType::u8, {2}, bytes_of("7")); });
    writer.finish();
    const NpzFile file = NpzFile::open(folder / "a.npz");
    EXPECT_THAT(file.names(), ElementsAre("weights", "é", "none"));
    EXPECT_EQ(file.read("weights").shape, (Shape{50, 100}));
    EXPECT_EQ(values<float>(file.read("weights")), numbers);
    EXPECT_EQ(file.read("é").data.size(), 1u);
    const bool is_smaller = std::filesystem::file_size(folder / "a.npz") < 15'000;
    EXPECT_EQ(is_smaller, method == ZipMethod::deflated);
  }
}

TEST(Zip, NumbersBeyondTheLimitAreWrittenAsZip64) {
  const TemporaryFolder folder;
  const std::span<const std::byte> pieces[] = {bytes_of("hello "), bytes_of("world")};
  for (const uint64_t limit : {uint64_t{0}, uint64_t{6}, uint64_t{11}, uint64_t{60}, uint64_t{0xffffffff}}) {
    ZipWriter writer(folder / "a.zip", limit);
    writer.add("stored", pieces, ZipMethod::stored);
    writer.add("deflated", pieces, ZipMethod::deflated);
    writer.add("empty", {}, ZipMethod::stored);
    writer.finish();
    const ZipFile file = ZipFile::open(folder / "a.zip");
    ASSERT_EQ(file.entries().size(), 3u);
    for (const char* name : {"stored", "deflated"}) {
      const std::vector<std::byte> content = file.read(*file.find(name));
      EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(content.data()), content.size()), "hello world") << limit;
      EXPECT_EQ(file.read_prefix(*file.find(name), 5).size(), 5u);
    }
    EXPECT_TRUE(file.read(*file.find("empty")).empty());
  }
}

TEST(Zip, EntriesThatOverlapAreRefused) {
  const TemporaryFolder folder;
  ZipWriter writer(folder / "a.zip");
  const std::span<const std::byte> content[] = {bytes_of("0123456789")};
  writer.add("a", content, ZipMethod::stored);
  writer.add("a2", content, ZipMethod::stored);
  writer.finish();
  std::vector<std::byte> bytes = read_bytes(folder / "a.zip");
  // The first local header is 31 bytes and 10 of content; let it claim 20 in the central directory, which begins at byte 83.
  ASSERT_EQ(bytes[83], std::byte{'P'});
  for (const size_t field : {size_t{20}, size_t{24}}) bytes[83 + field] = std::byte{20};
  EXPECT_THAT(message_of(ErrorCode::corrupt_file, [&] { static_cast<void>(ZipFile::parse(bytes, "a.zip")); }),
              HasSubstr("'a2' at byte 41: it overlaps entry 'a'"));
}

TEST(Zip, AnEntryThatPromisesMoreThanItsDataCanHoldIsRefused) {
  std::vector<std::byte> bytes = read_bytes(archive("streamed.npz"));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const size_t central = text.rfind("PK\1\2");
  bytes[central + 27] = std::byte{0x7f};  // 2 GiB
  EXPECT_THAT(message_of(ErrorCode::corrupt_file, [&] { static_cast<void>(ZipFile::parse(bytes, "a.zip")); }),
              HasSubstr("more than its data can unpack to"));
}

TEST(Npz, ReadsTheSharedFixture) {
  const auto path = shared_data("data/fixtures/candle/test.npz");
  if (!path) GTEST_SKIP() << kSharedDataMissing;
  const NpzFile file = NpzFile::open(*path);
  EXPECT_THAT(file.names(), ElementsAre("x", "x_plus_one"));
  EXPECT_EQ(values<int64_t>(file.read("x")), counted<int64_t>(10));
  EXPECT_EQ(values<int64_t>(file.read("x_plus_one"))[9], 10);
}

}  // namespace
}  // namespace wick
