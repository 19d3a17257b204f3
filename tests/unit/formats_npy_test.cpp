#include "wick/formats/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "unit/shared_data.h"
#include "unit/temporary_folder.h"
#include "wick/base/error.h"
#include "wick/base/half.h"

namespace wick {
namespace {

using ::testing::HasSubstr;

NpyArray read_array(std::string_view text) { return parse_npy(std::as_bytes(std::span(text)), "a.npy"); }

std::string npy(std::string_view header, std::string_view data) {
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size());
  text += '\0';
  return text.append(header).append(data);
}

std::string refused_array(ErrorCode code, const std::string& text) {
  try {
    static_cast<void>(read_array(text));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("a.npy: "));
    return error.what();
  }
  return "nothing was refused";
}

// What numpy.save writes for numpy.array([[1, 2, 3]], dtype='<f4').
TEST(Npy, WritesTheBytesThatNumPyWrites) {
  const TemporaryFolder folder;
  const float values[] = {1, 2, 3};
  write_npy(folder / "a.npy", {1, 3}, values);
  std::string expected("\x93NUMPY\x01\x00\x76\x00", 10);
  expected += "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }";
  expected.append(127 - expected.size(), ' ');
  expected += '\n';
  expected += std::string("\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40", 12);
  const auto bytes = read_bytes(folder / "a.npy");
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), expected);
}

TEST(Npy, EveryDtypeAndRankComesBack) {
  const TemporaryFolder folder;
  const Shape shapes[] = {{}, {0}, {5}, {2, 3}, {1, 2, 3, 4}, {1, 1, 1, 1, 1, 1, 1, 2}};
  for (const DType dtype : {DType::u8, DType::u32, DType::i8, DType::i16, DType::i32, DType::i64, DType::f16, DType::f32, DType::f64}) {
    for (const Shape& shape : shapes) {
      std::vector<std::byte> data(static_cast<size_t>(storage_bytes(dtype, shape.elements())));
      for (size_t index = 0; index < data.size(); ++index) data[index] = static_cast<std::byte>(index);
      write_npy(folder / "a.npy", dtype, shape, data);
      const NpyArray array = read_npy_array(folder / "a.npy");
      EXPECT_EQ(array.dtype, dtype);
      EXPECT_EQ(array.shape, shape);
      EXPECT_EQ(array.data, data);
      EXPECT_EQ((std::filesystem::file_size(folder / "a.npy") - data.size()) % 64, 0u);
    }
  }
}

TEST(Npy, ReadsVersion2AndLooseSpacing) {
  std::string text("\x93NUMPY\x02\x00", 8);
  const std::string header = "{\"shape\":(2,),\"fortran_order\":False,\"descr\":\"|u1\"}\n";
  text += static_cast<char>(header.size());
  text += std::string(3, '\0') + header + "ab";
  EXPECT_EQ(read_array(text).shape, Shape{2});
}

TEST(Npy, WriterNeedsExactlyTheShapesElements) {
  const TemporaryFolder folder;
  {
    NpyWriter writer(folder / "a.npy", DType::f32, {2, 2});
    writer.append(std::vector<std::byte>(12));
    EXPECT_THROW(writer.finish(), Error);
    EXPECT_THROW(writer.append(std::vector<std::byte>(8)), Error);
  }
  EXPECT_TRUE(folder.names().empty());
  EXPECT_THROW(NpyWriter(folder / "a.npy", DType::bf16, {2}), Error);
  EXPECT_TRUE(folder.names().empty());
}

TEST(Npy, BadFilesAreRefused) {
  const std::string good = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }";
  EXPECT_EQ(read_array(npy(good, "ab")).data.size(), 2u);
  for (size_t length = 0; length < npy(good, "ab").size(); ++length)
    refused_array(ErrorCode::corrupt_file, npy(good, "ab").substr(0, length));
  refused_array(ErrorCode::corrupt_file, npy(good, "abc"));
  EXPECT_THAT(refused_array(ErrorCode::corrupt_file, "PK\3\4aaaaaaaa"), HasSubstr("starts with 'PK"));
  refused_array(ErrorCode::corrupt_file, npy("{'descr': '|u1', 'fortran_order': Maybe, 'shape': (2,), }", "ab"));
  refused_array(ErrorCode::corrupt_file, npy("{'descr': '|u1', 'fortran_order': False, 'shape': (-2,), }", "ab"));
  refused_array(ErrorCode::corrupt_file, npy("{'descr': '|u1', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", "ab"));
  EXPECT_THAT(refused_array(ErrorCode::unsupported, npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,2), }", "ab")),
              HasSubstr("more than 8 dimensions are not supported"));
  refused_array(ErrorCode::corrupt_file, npy("{'descr': '|u1', 'fortran_order': False}", "ab"));
  refused_array(ErrorCode::corrupt_file, npy("{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (2,)}", "ab"));
  refused_array(ErrorCode::corrupt_file, npy(good + " x", "ab"));
  refused_array(ErrorCode::corrupt_file, npy("{'descr': '<f8', 'fortran_order': True, 'shape': (2305843009213693952,), }", ""));
}

TEST(Npy, AnythingThatPythonTakesForSpaceMayStandInTheHeader) {
  EXPECT_EQ(read_array(npy("{'descr':\t'|u1',\r\n 'fortran_order'\f: False,\t'shape': (\t2 ,\t), }\t", "ab")).data.size(), 2u);
}

// The elements of the files in tests/data/formats/npy are 0, 1, 2, … in row-major order, whatever the file's dtype and order.
double element(const NpyArray& array, size_t index) {
  const std::byte* at = array.data.data() + index * static_cast<size_t>(info(array.dtype).block_bytes);
  const auto load = [at]<class T>(T value) {
    std::memcpy(&value, at, sizeof(T));
    return static_cast<double>(value);
  };
  switch (array.dtype) {
    case DType::u8: return load(uint8_t{});
    case DType::u32: return load(uint32_t{});
    case DType::i8: return load(int8_t{});
    case DType::i16: return load(int16_t{});
    case DType::i32: return load(int32_t{});
    case DType::i64: return load(int64_t{});
    case DType::f16: return f16_bits_to_float(static_cast<uint16_t>(load(uint16_t{})));
    case DType::f32: return load(float{});
    case DType::f64: return load(double{});
    default: return -1;
  }
}

NpyArray read_own(const std::string& name) { return read_npy_array(source_file("tests/data/formats/npy") / (name + ".npy")); }

TEST(Npy, ReadsEveryDtypeOfNumPyInBothByteOrders) {
  const std::pair<const char*, DType> codes[] = {{"u4", DType::u32}, {"i2", DType::i16}, {"i4", DType::i32}, {"i8", DType::i64},
                                                 {"f2", DType::f16}, {"f4", DType::f32}, {"f8", DType::f64}};
  std::vector<std::pair<std::string, DType>> files = {{"u1", DType::u8}, {"i1", DType::i8}};
  for (const auto& [code, dtype] : codes) {
    files.emplace_back(std::string("little_") + code, dtype);
    files.emplace_back(std::string("big_") + code, dtype);
  }
  for (const auto& [name, dtype] : files) {
    const NpyArray array = read_own(name);
    EXPECT_EQ(array.dtype, dtype) << name;
    ASSERT_EQ(array.shape, (Shape{2, 3})) << name;
    for (size_t index = 0; index < 6; ++index) EXPECT_EQ(element(array, index), static_cast<double>(index)) << name;
  }
}

TEST(Npy, BooleansReadAsBytes) {
  const NpyArray array = read_own("bool");
  EXPECT_EQ(array.dtype, DType::u8);
  for (size_t index = 0; index < 6; ++index) EXPECT_EQ(element(array, index), static_cast<double>(index % 2));
}

TEST(Npy, FortranOrderBecomesRowMajor) {
  for (const char* name : {"fortran", "big_fortran"}) {
    const NpyArray array = read_own(name);
    ASSERT_EQ(array.shape, (Shape{2, 3, 4}));
    for (size_t index = 0; index < 24; ++index) EXPECT_EQ(element(array, index), static_cast<double>(index)) << name;
  }
}

TEST(Npy, ScalarsEmptyArraysAndEveryVersionAreRead) {
  EXPECT_EQ(read_own("scalar").shape, Shape());
  EXPECT_EQ(element(read_own("scalar"), 0), 7);
  EXPECT_EQ(read_own("empty").shape, (Shape{3, 0}));
  for (const char* name : {"version2", "version3"}) EXPECT_EQ(element(read_own(name), 5), 5) << name;
}

TEST(Npy, ElementsThatWickHasNotAreRefusedByName) {
  const auto folder = source_file("tests/data/formats/npy_refused");
  size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    ++files;
    try {
      static_cast<void>(read_npy_array(file.path()));
      ADD_FAILURE() << file.path();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(": descr "));
      EXPECT_THAT(error.what(), HasSubstr(" are not supported; "));
    }
  }
  EXPECT_EQ(files, 13u);
  EXPECT_THAT(refused_array(ErrorCode::unsupported, npy("{'descr': '<u2', 'fortran_order': False, 'shape': (1,), }", "ab")),
              HasSubstr("descr '<u2': 16-bit unsigned integers are not supported; save a.astype('<i4')"));
  EXPECT_THAT(refused_array(ErrorCode::unsupported, npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "abcd")),
              HasSubstr("structured elements"));
  EXPECT_THAT(refused_array(ErrorCode::unsupported, npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "abcd")),
              HasSubstr("never run"));
}

TEST(Npy, ReadsAFileOfNumPy) {
  const auto path = shared_data("data/fixtures/candle/test.npy");
  if (!path) GTEST_SKIP() << kSharedDataMissing;
  const NpyArray array = read_npy_array(*path);
  EXPECT_EQ(array.shape.elements() * info(array.dtype).block_bytes, static_cast<int64_t>(array.data.size()));
  EXPECT_GT(array.shape.rank(), 0);
}

}  // namespace
}  // namespace wick
