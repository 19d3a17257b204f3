#include "quant/interleave.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "base/half.h"
#include "quant/block_format.h"

namespace wick {
namespace {

using Bytes = std::vector<std::byte>;

constexpr DType kFormats[] = {DType::q4_0, DType::q8_0, DType::q4_k, DType::q5_k, DType::q6_k};

Bytes random_bytes(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// Rows of numbers packed by the format itself, so that every value is finite.
Bytes packed(DType dtype, int64_t rows, int64_t columns) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(rows * columns));
  for (float& value : values) value = normal(random);
  Bytes bytes(static_cast<size_t>(storage_bytes(dtype, rows * columns)));
  find_block_format(dtype)->pack(values, bytes.data());
  return bytes;
}

Bytes interleaved(DType dtype, const Bytes& rows, int64_t columns) {
  Bytes result = rows;
  const auto tile = static_cast<size_t>(storage_bytes(dtype, columns * kInterleavedRows));
  for (size_t at = 0; at + tile <= rows.size(); at += tile) interleave_tile(dtype, rows.data() + at, columns, result.data() + at);
  return result;
}

TEST(Interleave, EveryFormatHasAPlainAndAnInterleavedName) {
  for (const DType dtype : kFormats) {
    EXPECT_NE(interleaved_dtype(dtype), dtype);
    EXPECT_TRUE(is_interleaved(interleaved_dtype(dtype)));
    EXPECT_EQ(plain_dtype(interleaved_dtype(dtype)), dtype);
    EXPECT_EQ(interleaved_dtype(interleaved_dtype(dtype)), interleaved_dtype(dtype));
    EXPECT_EQ(info(interleaved_dtype(dtype)).block_bytes, info(dtype).block_bytes);
    EXPECT_EQ(info(interleaved_dtype(dtype)).block_elements, info(dtype).block_elements);
  }
  EXPECT_EQ(interleaved_dtype(DType::f32), DType::f32);
  EXPECT_EQ(plain_dtype(DType::q4_1), DType::q4_1);
}

TEST(Interleave, ATileGivesItsRowsBack) {
  for (const DType dtype : kFormats) {
    for (const int64_t columns : {256, 512, 2304}) {
      const auto size = static_cast<size_t>(storage_bytes(dtype, columns * kInterleavedRows));
      const Bytes rows = random_bytes(size, static_cast<unsigned>(columns));
      Bytes tile(size, std::byte{0});
      Bytes back(size, std::byte{0});
      interleave_tile(dtype, rows.data(), columns, tile.data());
      EXPECT_NE(tile, rows) << to_string(dtype);
      deinterleave_tile(dtype, tile.data(), columns, back.data());
      EXPECT_EQ(back, rows) << to_string(dtype) << " with " << columns << " columns";
    }
  }
}

// The layout that the comment in interleave.h promises, in bytes: word w of row r is at 64 w + 4 r behind the scales.
TEST(Interleave, AWordOfSixteenRowsIsOneVector) {
  const int64_t columns = 32;
  Bytes rows(34 * 16);
  for (size_t row = 0; row < 16; ++row) {
    for (size_t at = 0; at < 34; ++at) rows[row * 34 + at] = static_cast<std::byte>(row * 7 + at);
  }
  Bytes tile(rows.size());
  interleave_tile(DType::q8_0, rows.data(), columns, tile.data());
  for (size_t row = 0; row < 16; ++row) {
    EXPECT_EQ(tile[2 * row], rows[row * 34]);
    EXPECT_EQ(tile[2 * row + 1], rows[row * 34 + 1]);
    for (size_t quant = 0; quant < 32; ++quant) {
      // Stored as quant + 128.
      EXPECT_EQ(tile[32 + quant / 4 * 64 + row * 4 + quant % 4], rows[row * 34 + 2 + quant] ^ std::byte{0x80});
    }
  }
}

TEST(Interleave, UnpackRowReadsTheSameNumbersFromBoth) {
  for (const DType dtype : kFormats) {
    const int64_t columns = 512;
    for (const int64_t rows : {1, 15, 16, 17, 31, 33, 48}) {
      const Bytes plain = packed(dtype, rows, columns);
      const Bytes tiled = interleaved(dtype, plain, columns);
      std::vector<float> expected(static_cast<size_t>(columns));
      std::vector<float> from_plain(expected.size());
      std::vector<float> from_tiles(expected.size());
      for (int64_t row = 0; row < rows; ++row) {
        find_block_format(dtype)->unpack(plain.data() + row * storage_bytes(dtype, columns), expected);
        unpack_row(dtype, plain.data(), plain.size(), row, from_plain);
        unpack_row(interleaved_dtype(dtype), tiled.data(), tiled.size(), row, from_tiles);
        EXPECT_EQ(from_plain, expected) << to_string(dtype) << " row " << row << " of " << rows;
        EXPECT_EQ(from_tiles, expected) << to_string(dtype) << " row " << row << " of " << rows;
      }
    }
  }
}

TEST(Interleave, RowsBehindTheLastTileStayPlain) {
  const int64_t columns = 256;
  const Bytes plain = packed(DType::q4_k, 21, columns);
  const Bytes tiled = interleaved(DType::q4_k, plain, columns);
  const auto tile = static_cast<size_t>(storage_bytes(DType::q4_k, 16 * columns));
  EXPECT_EQ(std::memcmp(tiled.data() + tile, plain.data() + tile, plain.size() - tile), 0);
}

}  // namespace
}  // namespace wick
