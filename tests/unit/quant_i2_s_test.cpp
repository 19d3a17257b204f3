#include "wick/quant/i2_s.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "wick/quant/block_format.h"
#include "wick/quant/unpack_row.h"

namespace wick {
namespace {

// The definition, written from the weights' side: weight w of a block is in byte w mod 32, the first of four at the top.
std::vector<std::byte> encoded(const std::vector<int>& codes, float scale) {
  std::vector<std::byte> bytes(codes.size() / 4 + 32, std::byte{0x5a});
  std::memset(bytes.data(), 0, codes.size() / 4);
  for (size_t at = 0; at < codes.size(); ++at) {
    const size_t block = at / 128;
    const size_t place = at % 128;
    bytes[block * 32 + place % 32] |= static_cast<std::byte>(codes[at] << (6 - 2 * static_cast<int>(place / 32)));
  }
  std::memcpy(bytes.data() + codes.size() / 4, &scale, sizeof(scale));
  return bytes;
}

std::vector<int> some_codes(size_t count) {
  std::vector<int> codes(count);
  for (size_t at = 0; at < count; ++at) codes[at] = static_cast<int>((at * at + at / 7) % 4);
  return codes;
}

float weight_of(int code) { return code == 0 ? -1.0f : code == 2 ? 1.0f : 0.0f; }

TEST(I2S, EveryByteReadsAsItsFourCodesTimesTheScaleBehindTheLastBlock) {
  const std::vector<int> codes = some_codes(3 * 384);
  const std::vector<std::byte> bytes = encoded(codes, 0.37f);
  EXPECT_EQ(static_cast<int64_t>(bytes.size()), tensor_bytes(DType::i2_s, 3 * 384));
  EXPECT_EQ(i2_s_scale(bytes), 0.37f);
  std::vector<float> row(384);
  for (int64_t index = 0; index < 3; ++index) {
    unpack_row(DType::i2_s, bytes.data(), bytes.size(), index, row);
    for (size_t at = 0; at < row.size(); ++at) {
      ASSERT_EQ(row[at], weight_of(codes[static_cast<size_t>(index) * 384 + at]) * 0.37f) << index << " " << at;
    }
  }
}

// Bytes written down by hand: 0b10'01'00'11 in byte 5 is weights 5, 37, 69 and 101.
TEST(I2S, TheFirstWeightOfAByteIsInItsTopBits) {
  std::vector<std::byte> bytes(64, std::byte{0b01010101});
  bytes[5] = std::byte{0b10010011};
  std::vector<float> values(128);
  unpack_i2_s(bytes.data(), 2, values);
  EXPECT_EQ(values[5], 2);
  EXPECT_EQ(values[37], 0);
  EXPECT_EQ(values[69], -2);
  EXPECT_EQ(values[101], 0);
  for (const size_t other : {0u, 4u, 6u, 127u}) EXPECT_EQ(values[other], 0);
}

TEST(I2S, RewrittenBlocksHaveTheSameWeightsAtScaleOne) {
  EXPECT_EQ(ternary_blocks_for(2560), DType::tq2_0);
  EXPECT_EQ(ternary_blocks_for(384), DType::q2_0);
  for (const int64_t columns : {256, 384}) {
    const DType to = ternary_blocks_for(columns);
    const std::vector<int> codes = some_codes(static_cast<size_t>(2 * columns));
    const std::vector<std::byte> bytes = encoded(codes, 3);
    std::vector<std::byte> blocks(static_cast<size_t>(storage_bytes(to, 2 * columns)));
    rewrite_i2_s(bytes.data(), 2 * columns, to, blocks.data());
    std::vector<float> values(codes.size());
    find_block_format(to)->unpack(blocks.data(), values);
    for (size_t at = 0; at < codes.size(); ++at) ASSERT_EQ(values[at], weight_of(codes[at])) << to_string(to) << " " << at;
  }
}

TEST(I2S, AScaleOfZeroOrNaNGivesZerosOrNaN) {
  std::vector<float> values(128);
  const std::vector<int> codes(128, 2);
  for (const float scale : {0.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const std::vector<std::byte> bytes = encoded(codes, scale);
    unpack_row(DType::i2_s, bytes.data(), bytes.size(), 0, values);
    for (const float value : values) EXPECT_TRUE(value == scale || (value != value && scale != scale));
  }
}

}  // namespace
}  // namespace wick
