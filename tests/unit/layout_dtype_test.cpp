#include <gtest/gtest.h>

#include <set>
#include <string>

#include "wick/layout/dtype.h"

namespace wick {
namespace {

TEST(DType, EveryNameIsParsedBackToItsDType) {
  std::set<std::string> names;
  for (int id = 0; id < kDTypeCount; ++id) {
    const auto dtype = static_cast<DType>(id);
    EXPECT_EQ(parse_dtype(to_string(dtype)), dtype);
    names.emplace(to_string(dtype));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(kDTypeCount));
  EXPECT_EQ(parse_dtype("f31"), std::nullopt);
}

TEST(DType, PlainNumbersHaveTheSizeOfTheirType) {
  EXPECT_EQ(info(DType::u8).block_bytes, 1);
  EXPECT_EQ(info(DType::i8).block_bytes, 1);
  EXPECT_EQ(info(DType::i16).block_bytes, 2);
  EXPECT_EQ(info(DType::bf16).block_bytes, 2);
  EXPECT_EQ(info(DType::f32).block_bytes, 4);
  EXPECT_EQ(info(DType::i64).block_bytes, 8);
  EXPECT_EQ(info(DType::f8e4m3).block_bytes, 1);
}

TEST(DType, AQuantizedRowTakesWholeBlocks) {
  EXPECT_EQ(storage_bytes(DType::q8_0, 512), 512 / 32 * 34);
  EXPECT_EQ(storage_bytes(DType::q4_k, 4096), 4096 / 256 * 144);
  EXPECT_EQ(storage_bytes(DType::q6_k, 256), 210);
  EXPECT_EQ(storage_bytes(DType::f64, 3), 24);
}

TEST(DType, OnlyI2SHasBytesBehindTheLastBlock) {
  EXPECT_EQ(tensor_bytes(DType::i2_s, 1024), 1024 / 4 + 32);
  EXPECT_EQ(storage_bytes(DType::i2_s, 1024), 1024 / 4);
  for (int id = 0; id < kDTypeCount; ++id) {
    const auto dtype = static_cast<DType>(id);
    EXPECT_EQ(info(dtype).tail_bytes, dtype == DType::i2_s ? 32 : 0) << to_string(dtype);
  }
}

TEST(DType, EachIsOneOfIntegerFloatAndQuantized) {
  for (int id = 0; id < kDTypeCount; ++id) {
    const auto dtype = static_cast<DType>(id);
    EXPECT_EQ(int{is_integer(dtype)} + int{is_float(dtype)} + int{is_quantized(dtype)}, 1) << to_string(dtype);
    EXPECT_EQ(is_quantized(dtype), info(dtype).block_elements > 1) << to_string(dtype);
  }
}

}  // namespace
}  // namespace wick
