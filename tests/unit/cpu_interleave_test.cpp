#include "wick/backend/cpu/weights/interleave.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "wick/quant/block_format.h"
#include "wick/quant/blocks.h"

namespace wick::cpu {
namespace {

using Bytes = std::vector<std::byte>;

// Every format that has a tile layout.
std::vector<DType> formats() {
  std::vector<DType> found;
  for (const BlockFormat& format : block_formats()) {
    if (has_tile_layout(format.dtype)) found.push_back(format.dtype);
  }
  return found;
}

Bytes random_bytes(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

Bytes interleaved(DType dtype, const Bytes& rows, int64_t columns) {
  Bytes result = rows;
  const auto tile = static_cast<size_t>(storage_bytes(dtype, columns * kInterleavedRows));
  for (size_t at = 0; at + tile <= rows.size(); at += tile) interleave_tile(dtype, rows.data() + at, columns, result.data() + at);
  return result;
}

TEST(Interleave, EveryFormatOfFilesHasATileLayout) {
  // q8_1 and q8_k hold activations, and f32 stays as it is.
  EXPECT_EQ(formats().size(), block_formats().size() - 3);
  for (const DType dtype : formats()) EXPECT_EQ(256 % tile_block_columns(dtype), 0) << to_string(dtype);
  for (const DType dtype : {DType::f32, DType::f64, DType::i64, DType::q8_1, DType::q8_k}) EXPECT_FALSE(has_tile_layout(dtype));
}

TEST(Interleave, ATileGivesItsRowsBack) {
  for (const DType dtype : formats()) {
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

// Kernels read what all 16 rows need first from the start of a block of the tile.
TEST(Interleave, TheScalesOfSixteenRowsStandFirst) {
  struct Case {
    DType dtype;
    size_t scale;  // where the plain block has it
    size_t bytes;
  };
  constexpr Case kCases[] = {{DType::q4_1, offsetof(BlockQ4_1, d), 2},       {DType::q5_0, offsetof(BlockQ5_0, d), 2},
                             {DType::q5_1, offsetof(BlockQ5_1, d), 2},       {DType::q2_k, offsetof(BlockQ2_K, d), 2},
                             {DType::q3_k, offsetof(BlockQ3_K, d), 2},       {DType::q6_k, offsetof(BlockQ6_K, d), 2},
                             {DType::iq1_s, offsetof(BlockIQ1_S, d), 2},     {DType::iq2_xxs, offsetof(BlockIQ2_XXS, d), 2},
                             {DType::iq2_xs, offsetof(BlockIQ2_XS, d), 2},   {DType::iq2_s, offsetof(BlockIQ2_S, d), 2},
                             {DType::iq3_xxs, offsetof(BlockIQ3_XXS, d), 2}, {DType::iq3_s, offsetof(BlockIQ3_S, d), 2},
                             {DType::iq4_xs, offsetof(BlockIQ4_XS, d), 2},   {DType::tq1_0, offsetof(BlockTQ1_0, d), 2},
                             {DType::tq2_0, offsetof(BlockTQ2_0, d), 2},     {DType::mxfp4, offsetof(BlockMXFP4, exponent), 1},
                             {DType::q1_0, offsetof(BlockQ1_0, d), 2},       {DType::q2_0, offsetof(BlockQ2_0, d), 2}};
  for (const Case& format : kCases) {
    const auto row_bytes = static_cast<size_t>(storage_bytes(format.dtype, 512));
    const auto block_bytes = static_cast<size_t>(info(format.dtype).block_bytes);
    const Bytes rows = random_bytes(row_bytes * 16, 3);
    Bytes tile(rows.size());
    interleave_tile(format.dtype, rows.data(), 512, tile.data());
    for (size_t row = 0; row < 16; ++row) {
      for (size_t block = 0; block < 2; ++block) {
        const std::byte* plain = rows.data() + row * row_bytes + block * block_bytes + format.scale;
        const std::byte* found = tile.data() + block * block_bytes * 16 + row * format.bytes;
        EXPECT_EQ(std::memcmp(found, plain, format.bytes), 0) << to_string(format.dtype) << " row " << row << " block " << block;
      }
    }
  }
}

// Whatever the bytes mean, NaN too.
TEST(Interleave, ARowOfATileHasTheNumbersOfThePlainRow) {
  for (const DType dtype : formats()) {
    const int64_t columns = 512;
    const auto row_bytes = static_cast<size_t>(storage_bytes(dtype, columns));
    const Bytes plain = random_bytes(kInterleavedRows * row_bytes, 7);
    const Bytes tile = interleaved(dtype, plain, columns);
    std::vector<float> expected(static_cast<size_t>(columns));
    std::vector<float> found(expected.size());
    for (int64_t row = 0; row < kInterleavedRows; ++row) {
      find_block_format(dtype)->unpack(plain.data() + static_cast<size_t>(row) * row_bytes, expected);
      unpack_tile_row(dtype, tile.data(), row, found);
      EXPECT_EQ(std::memcmp(found.data(), expected.data(), expected.size() * sizeof(float)), 0) << to_string(dtype) << " row " << row;
    }
  }
}

}  // namespace
}  // namespace wick::cpu
