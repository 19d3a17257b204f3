// The block formats by their definition, without outside data: codes and scales placed by hand, errors of a round trip, odd values.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "wick/base/half.h"
#include "wick/quant/block_format.h"
#include "wick/quant/blocks.h"
#include "wick/quant/scale_search.h"

namespace wick {
namespace {

std::vector<float> unpacked(DType dtype, const void* block, size_t elements) {
  std::vector<float> values(elements);
  find_block_format(dtype)->unpack(static_cast<const std::byte*>(block), values);
  return values;
}

std::vector<std::byte> packed(DType dtype, const std::vector<float>& values) {
  std::vector<std::byte> blocks(static_cast<size_t>(storage_bytes(dtype, static_cast<int64_t>(values.size()))));
  const BlockFormat* format = find_block_format(dtype);
  if (format->pack != nullptr)
    format->pack(values, blocks.data());
  else
    format->pack_weighted(values, std::vector<float>(values.size(), 1.0f), blocks.data());
  return blocks;
}

std::vector<std::byte> packed_by_importance(const BlockFormat& format, const std::vector<float>& values) {
  std::vector<float> importance(values.size());
  for (size_t index = 0; index < importance.size(); ++index) importance[index] = static_cast<float>(index % 7);
  std::vector<std::byte> blocks(static_cast<size_t>(storage_bytes(format.dtype, static_cast<int64_t>(values.size()))));
  format.pack_weighted(values, importance, blocks.data());
  return blocks;
}

TEST(BlockFormats, TableHasEveryFormatOfGgufFiles) {
  for (int id = 0; id < kDTypeCount; ++id) {
    const auto dtype = static_cast<DType>(id);
    const bool expected =
        (is_quantized(dtype) && dtype != DType::i2_s) || dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
    const BlockFormat* format = find_block_format(dtype);
    ASSERT_EQ(format != nullptr, expected) << to_string(dtype);
    if (format == nullptr) continue;
    EXPECT_EQ(format->dtype, dtype);
    EXPECT_TRUE(format->pack != nullptr || format->pack_weighted != nullptr) << to_string(dtype);
  }
}

TEST(BlockFormats, Q4_0CodesCountFromMinusEight) {
  BlockQ4_0 block{.d = float_to_f16_bits(0.5f), .codes = {}};
  block.codes[0] = 0xf0;  // element 0: code 0; element 16: code 15
  block.codes[15] = 0x08;
  const auto values = unpacked(DType::q4_0, &block, 32);
  EXPECT_EQ(values[0], -4.0f);
  EXPECT_EQ(values[16], 3.5f);
  EXPECT_EQ(values[15], 0.0f);
  EXPECT_EQ(values[31], -4.0f);
}

TEST(BlockFormats, Q8_0IsScaleTimesCode) {
  BlockQ8_0 block{.d = float_to_f16_bits(0.25f), .codes = {-128, 127, 1}};
  const auto values = unpacked(DType::q8_0, &block, 32);
  EXPECT_EQ(values[0], -32.0f);
  EXPECT_EQ(values[1], 31.75f);
  EXPECT_EQ(values[2], 0.25f);
}

TEST(BlockFormats, ScalesOfKBlocksLieInTwelveBytes) {
  // Runs 0 to 3: bytes 0 to 3 and 4 to 7; runs 4 to 7: halves of bytes 8 to 11 and the top bits of the others.
  const uint8_t packed[12] = {0x40 | 1, 2, 3, 4, 0x80 | 5, 6, 7, 8, 0x9a, 0, 0, 0};
  EXPECT_EQ(unpack_scale_min(packed, 0).scale, 1);
  EXPECT_EQ(unpack_scale_min(packed, 0).min, 5);
  EXPECT_EQ(unpack_scale_min(packed, 3).scale, 4);
  EXPECT_EQ(unpack_scale_min(packed, 4).scale, 0xa | 0x10);
  EXPECT_EQ(unpack_scale_min(packed, 4).min, 0x9 | 0x20);
}

TEST(BlockFormats, Q4_KSubtractsTheMinimum) {
  BlockQ4_K block{.d = float_to_f16_bits(0.5f), .dmin = float_to_f16_bits(0.25f), .packed_scales = {}, .codes = {}};
  block.packed_scales[1] = 3;  // run 1: scale 3 and minimum 2
  block.packed_scales[5] = 2;
  block.codes[31] = 0xf0;  // the last element of run 1
  const auto values = unpacked(DType::q4_k, &block, 256);
  EXPECT_EQ(values[63], 0.5f * 3 * 15 - 0.25f * 2);
  EXPECT_EQ(values[62], -0.5f);
  EXPECT_EQ(values[31], 0.0f);
}

TEST(BlockFormats, Q5_KTakesItsFifthBitByRun) {
  BlockQ5_K block{.d = float_to_f16_bits(1.0f), .dmin = 0, .packed_scales = {1, 1, 1, 1}, .high_bits = {}, .codes = {}};
  block.high_bits[2] = 1 << 3;  // element 2 of run 3
  block.codes[32 + 2] = 0x50;
  const auto values = unpacked(DType::q5_k, &block, 256);
  EXPECT_EQ(values[3 * 32 + 2], 21.0f);
  EXPECT_EQ(values[2 * 32 + 2], 0.0f);
}

TEST(BlockFormats, Q6_KCodesCountFromMinus32) {
  BlockQ6_K block{};
  block.d = float_to_f16_bits(1.0f);
  block.scales[0] = 1;
  block.scales[15] = -2;  // elements 240 to 255
  block.low_bits[127] = 0xf0;
  block.high_bits[63] = 0xc0;  // element 255: code 63
  const auto values = unpacked(DType::q6_k, &block, 256);
  EXPECT_EQ(values[0], -32.0f);
  EXPECT_EQ(values[255], -62.0f);
  EXPECT_EQ(values[254], 64.0f);
  EXPECT_EQ(values[16], 0.0f);
}

TEST(BlockFormats, RoundTripErrorIsWithinTheStepOfTheFormat) {
  std::mt19937 random(7);
  std::vector<float> values(1024);
  for (float& value : values) value = static_cast<float>(random() % 20001) / 10000.0f - 1.0f;
  const struct {
    DType dtype;
    double root_mean_square;
  } bounds[] = {{DType::f32, 0},        {DType::f16, 3e-4},    {DType::bf16, 2e-3},   {DType::q8_0, 3e-3},    {DType::q4_0, 0.045},
                {DType::q4_k, 0.04},    {DType::q5_k, 0.02},   {DType::q6_k, 0.01},   {DType::q4_1, 0.045},   {DType::q5_0, 0.025},
                {DType::q5_1, 0.025},   {DType::q8_1, 3e-3},   {DType::q8_k, 3e-3},   {DType::q3_k, 0.1},     {DType::q2_k, 0.2},
                {DType::iq4_nl, 0.06},  {DType::iq4_xs, 0.06}, {DType::mxfp4, 0.1},   {DType::nvfp4, 0.08},   {DType::iq3_s, 0.12},
                {DType::iq3_xxs, 0.15}, {DType::iq2_s, 0.2},   {DType::iq2_xs, 0.25}, {DType::iq2_xxs, 0.28}, {DType::iq1_s, 0.4},
                {DType::iq1_m, 0.4},    {DType::tq2_0, 0.35},  {DType::tq1_0, 0.35}};
  for (const auto& [dtype, bound] : bounds) {
    const auto back = unpacked(dtype, packed(dtype, values).data(), values.size());
    double sum = 0;
    for (size_t index = 0; index < values.size(); ++index) sum += std::pow(values[index] - back[index], 2);
    EXPECT_LE(std::sqrt(sum / static_cast<double>(values.size())), bound) << to_string(dtype);
  }
}

TEST(BlockFormats, ZerosStayZeros) {
  for (const BlockFormat& format : block_formats()) {
    const auto back = unpacked(format.dtype, packed(format.dtype, std::vector<float>(256)).data(), 256);
    for (const float value : back) EXPECT_EQ(value, 0.0f) << to_string(format.dtype);
  }
}

// Undefined behaviour here would stop the sanitized build of the tests.
TEST(BlockFormats, AnyValuesAndAnyBytesAreDefined) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float odd[] = {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(), 3e38f, -3e38f, 1e-45f, -1e-40f, 65504.0f};
  for (const BlockFormat& format : block_formats()) {
    for (size_t shift = 0; shift < std::size(odd); ++shift) {
      std::vector<float> alone(256, 0.5f);
      alone[shift * 31] = odd[shift];
      static_cast<void>(packed(format.dtype, alone));
      static_cast<void>(packed(format.dtype, std::vector<float>(256, odd[shift])));
      std::vector<float> mixed(256);
      for (size_t index = 0; index < mixed.size(); ++index) mixed[index] = odd[(index * index + shift) % std::size(odd)];
      static_cast<void>(packed(format.dtype, mixed));
      if (format.pack_weighted == nullptr) continue;
      for (const auto& values : {alone, mixed, std::vector<float>(256, odd[shift])})
        static_cast<void>(packed_by_importance(format, values));
    }
    for (int fill = 0; fill < 256; ++fill) {
      const std::vector<std::byte> bytes(1024, static_cast<std::byte>(fill));
      static_cast<void>(unpacked(format.dtype, bytes.data(), 256));
    }
  }
}

// Two blocks of 256, or as many smaller ones.
std::vector<float> two_rows_of_waves() {
  std::vector<float> values(512);
  for (size_t index = 0; index < values.size(); ++index) {
    values[index] = std::sin(static_cast<float>(index * index % 509)) * (1 + static_cast<float>(index / 32 % 3));
  }
  return values;
}

std::vector<std::byte> packed_row(const BlockFormat& format, const std::vector<float>& values, const std::vector<float>& importance) {
  std::vector<std::byte> blocks(static_cast<size_t>(storage_bytes(format.dtype, std::ssize(values))));
  pack_row(format, values, importance, blocks.data());
  return blocks;
}

// The mean square error in the columns where `counts` is 0.
double error_where_zero(const BlockFormat& format, const std::vector<float>& values, const std::vector<std::byte>& blocks,
                        const std::vector<float>& counts) {
  const std::vector<float> back = unpacked(format.dtype, blocks.data(), values.size());
  double error = 0;
  int64_t columns = 0;
  for (size_t index = 0; index < values.size(); ++index) {
    if (counts[index] != 0) continue;
    error += std::pow(static_cast<double>(back[index]) - values[index], 2);
    ++columns;
  }
  return error / static_cast<double>(columns);
}

TEST(BlockFormats, ARowWithoutImportanceIsPackedWithoutIt) {
  const std::vector<float> values = two_rows_of_waves();
  for (const BlockFormat& format : block_formats()) {
    if (format.pack_weighted == nullptr) continue;
    const auto blocks = packed_row(format, values, std::vector<float>(512, 0.0f));
    if (format.pack != nullptr) {
      EXPECT_EQ(blocks, packed_row(format, values, {})) << to_string(format.dtype);
    } else {
      EXPECT_EQ(blocks, packed_row(format, values, std::vector<float>(512, 1.0f))) << to_string(format.dtype);
    }
  }
}

TEST(BlockFormats, ColumnsOfNoImportanceKeepTheirValues) {
  const std::vector<float> values = two_rows_of_waves();
  for (const BlockFormat& format : block_formats()) {
    if (format.pack_weighted == nullptr) continue;
    const auto alike = packed_row(format, values, std::vector<float>(512, 1.0f));
    for (const size_t dead : {256, 128, 64, 32, 16, 8}) {
      for (const float of_others : {1e-12f, 1.0f, 1e6f}) {
        std::vector<float> importance(512, of_others);
        for (size_t index = 0; index < importance.size(); ++index) {
          if (index / dead % (dead == 256 ? 2 : 4) == 0) importance[index] = 0;
        }
        const double error = error_where_zero(format, values, packed_row(format, values, importance), importance);
        const double usual = error_where_zero(format, values, alike, importance);
        const double plain = format.pack == nullptr ? 0 : error_where_zero(format, values, packed_row(format, values, {}), importance);
        EXPECT_LE(error, 2.5 * std::max(usual, plain))
            << to_string(format.dtype) << ", " << dead << " columns of no importance next to those of " << of_others;
      }
    }
  }
}

TEST(BlockFormats, BlocksNeedNoAlignment) {
  for (const BlockFormat& format : block_formats()) {
    std::vector<float> values(256);
    for (size_t index = 0; index < values.size(); ++index) values[index] = std::sin(static_cast<float>(index));
    const auto blocks = packed(format.dtype, values);
    std::vector<std::byte> shifted(blocks.size() + 1);
    if (format.pack == nullptr)
      format.pack_weighted(values, std::vector<float>(values.size(), 1.0f), shifted.data() + 1);
    else
      format.pack(values, shifted.data() + 1);
    EXPECT_EQ(std::memcmp(shifted.data() + 1, blocks.data(), blocks.size()), 0);
    EXPECT_EQ(unpacked(format.dtype, shifted.data() + 1, 256), unpacked(format.dtype, blocks.data(), 256));
  }
}

TEST(ScaleSearch, NearestIntegerRoundsTiesToEvenAndStaysInRange) {
  EXPECT_EQ(quant::nearest_integer(2.5f), 2);
  EXPECT_EQ(quant::nearest_integer(3.5f), 4);
  EXPECT_EQ(quant::nearest_integer(-2.5f), -2);
  EXPECT_EQ(quant::nearest_integer(-0.4f), 0);
  EXPECT_EQ(quant::nearest_integer(1e30f), 4194303);
  EXPECT_EQ(quant::nearest_integer(-std::numeric_limits<float>::infinity()), -4194303);
}

TEST(ScaleSearch, AffineFitFindsAnExactGrid) {
  std::vector<float> values(32);
  for (size_t index = 0; index < values.size(); ++index) values[index] = 0.25f * static_cast<float>(index % 16) - 2.0f;
  std::vector<uint8_t> codes(32);
  const quant::AffineFit fit = quant::fit_affine(
      values, std::vector<float>(32, 1.0f), {.max_code = 15, .first_step = -1.0f, .step = 0.1f, .steps = 20, .absolute = false}, codes);
  EXPECT_NEAR(fit.scale, 0.25f, 1e-6f);
  EXPECT_NEAR(fit.min, 2.0f, 1e-5f);
  EXPECT_EQ(codes[15], 15);
}

}  // namespace
}  // namespace wick
