// Rows of plain numbers of every dtype.
#include "wick/quant/unpack_row.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "wick/base/half.h"

namespace wick {
namespace {

template <class Number, class Stored>
std::vector<Number> second_row(DType dtype, const std::vector<Stored>& matrix) {
  std::vector<Number> row(matrix.size() / 2);
  unpack_row(dtype, reinterpret_cast<const std::byte*>(matrix.data()), matrix.size() * sizeof(Stored), 1, row);
  return row;
}

TEST(UnpackRow, IntegersAreExact) {
  constexpr int64_t kLarge = std::numeric_limits<int64_t>::min() + 1;
  EXPECT_EQ((second_row<int64_t, int64_t>(DType::i64, {0, 0, kLarge, (int64_t{1} << 53) + 1})),
            (std::vector<int64_t>{kLarge, (int64_t{1} << 53) + 1}));
  EXPECT_EQ((second_row<int64_t, uint32_t>(DType::u32, {0, 0xFFFFFFFF})), (std::vector<int64_t>{0xFFFFFFFF}));
  EXPECT_EQ((second_row<double, int32_t>(DType::i32, {0, 0, -2147483647, 3})), (std::vector<double>{-2147483647, 3}));
  EXPECT_EQ((second_row<double, int16_t>(DType::i16, {0, -300})), (std::vector<double>{-300}));
  EXPECT_EQ((second_row<float, int8_t>(DType::i8, {0, -128})), (std::vector<float>{-128}));
  EXPECT_EQ((second_row<float, uint8_t>(DType::u8, {0, 255})), (std::vector<float>{255}));
}

TEST(UnpackRow, F64KeepsWhatF32CannotHold) {
  EXPECT_EQ((second_row<double, double>(DType::f64, {0, 0, 1e300, 1 + 0x1p-40})), (std::vector<double>{1e300, 1 + 0x1p-40}));
  EXPECT_EQ((second_row<float, double>(DType::f64, {0, 0, 0.1, -2})), (std::vector<float>{0.1F, -2}));
}

// The codes of OCP's E4M3: 0x38 is 1, 0x7e is 448, 0x01 is 2^-9, 0x7f is NaN.
TEST(UnpackRow, F8IsReadByItsCodes) {
  const std::vector<float> row = second_row<float, uint8_t>(DType::f8e4m3, {0, 0, 0, 0, 0x38, 0xfe, 0x01, 0x7f});
  EXPECT_EQ(row[0], 1);
  EXPECT_EQ(row[1], -448);
  EXPECT_EQ(row[2], 0x1p-9F);
  EXPECT_TRUE(std::isnan(row[3]));
}

TEST(UnpackRow, EveryDTypeIsReadable) {
  for (const DTypeInfo& row : kDTypeRows) EXPECT_TRUE(is_readable(row.dtype)) << row.name;
}

}  // namespace
}  // namespace wick
