// Every block format against ggml's own bytes and numbers (quant-blocks.safetensors).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "unit/shared_data.h"
#include "wick/formats/safetensors.h"
#include "wick/quant/block_format.h"

namespace wick {
namespace {

struct GoldenFormat {
  DType dtype;
  const char* name;  // as the file spells it
};

constexpr GoldenFormat kGoldens[] = {
    {DType::f16, "f16"},       {DType::bf16, "bf16"},   {DType::q4_0, "q4_0"},       {DType::q4_1, "q4_1"},   {DType::q5_0, "q5_0"},
    {DType::q5_1, "q5_1"},     {DType::q8_0, "q8_0"},   {DType::q2_k, "q2_K"},       {DType::q3_k, "q3_K"},   {DType::q4_k, "q4_K"},
    {DType::q5_k, "q5_K"},     {DType::q6_k, "q6_K"},   {DType::iq1_s, "iq1_s"},     {DType::iq1_m, "iq1_m"}, {DType::iq2_xxs, "iq2_xxs"},
    {DType::iq2_xs, "iq2_xs"}, {DType::iq2_s, "iq2_s"}, {DType::iq3_xxs, "iq3_xxs"}, {DType::iq3_s, "iq3_s"}, {DType::iq4_nl, "iq4_nl"},
    {DType::iq4_xs, "iq4_xs"}, {DType::tq1_0, "tq1_0"}, {DType::tq2_0, "tq2_0"},     {DType::mxfp4, "mxfp4"}, {DType::nvfp4, "nvfp4"},
    {DType::q1_0, "q1_0"},     {DType::q2_0, "q2_0"},
};

std::vector<float> floats(const SafetensorsTensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.shape.elements()));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

class QuantGolden : public ::testing::TestWithParam<GoldenFormat> {
 protected:
  void SetUp() override {
    const auto path = shared_data("data/quant/quant-blocks.safetensors");
    if (!path) GTEST_SKIP() << kSharedDataMissing;
    goldens_ = SafetensorsFile::open(*path);
  }
  SafetensorsFile goldens_;
};

double square_error(const BlockFormat& format, std::span<const std::byte> block, std::span<const float> expected) {
  std::vector<float> values(expected.size());
  format.unpack(block.data(), values);
  double error = 0;
  for (size_t index = 0; index < values.size(); ++index) error += std::pow(values[index] - expected[index], 2);
  return error;
}

// The blocks that are not ggml's; none of them may be worse.
size_t differing_blocks(const BlockFormat& format, std::span<const std::byte> got, std::span<const std::byte> expected,
                        std::span<const float> source) {
  const auto bytes = static_cast<size_t>(info(format.dtype).block_bytes);
  const auto elements = static_cast<size_t>(info(format.dtype).block_elements);
  size_t differing = 0;
  for (size_t block = 0; block * bytes < expected.size(); ++block) {
    const auto ours = got.subspan(block * bytes, bytes);
    const auto theirs = expected.subspan(block * bytes, bytes);
    if (std::equal(ours.begin(), ours.end(), theirs.begin())) continue;
    ++differing;
    const auto values = source.subspan(block * elements, elements);
    EXPECT_LE(square_error(format, ours, values), square_error(format, theirs, values)) << "block " << block;
  }
  return differing;
}

// ggml's quantizer of IQ3_S forgets to step over a run of 32 zeros, so that the runs behind it in a block are written into its place and
// read back as others. Such blocks (one here) are better than ggml's, not the same.
size_t allowed_differences(DType dtype) { return dtype == DType::iq3_s ? 1 : 0; }

TEST_P(QuantGolden, UnpackingIsBitExactWithGgml) {
  const BlockFormat* format = find_block_format(GetParam().dtype);
  ASSERT_NE(format, nullptr);
  for (const char* variant : {"", ".imatrix"}) {
    const std::string prefix = std::string(GetParam().name) + variant;
    if (goldens_.find(prefix + ".bytes") == nullptr) continue;  // three formats are there with importance only
    const SafetensorsTensor& blocks = goldens_.get(prefix + ".bytes");
    const SafetensorsTensor& expected = goldens_.get(prefix + ".f32");
    std::vector<float> values(static_cast<size_t>(expected.shape.elements()));
    format->unpack(blocks.data.data(), values);
    EXPECT_EQ(std::memcmp(values.data(), expected.data.data(), expected.data.size()), 0) << prefix;
  }
}

TEST_P(QuantGolden, PackingWritesTheBytesOfGgmlsReferenceQuantizer) {
  const BlockFormat* format = find_block_format(GetParam().dtype);
  const SafetensorsTensor* expected = goldens_.find(std::string(GetParam().name) + ".bytes");
  ASSERT_EQ(format->pack == nullptr, expected == nullptr);
  if (expected == nullptr) return;
  const std::vector<float> source = floats(goldens_.get("source"));
  std::vector<std::byte> blocks(expected->data.size());
  format->pack(source, blocks.data());
  EXPECT_EQ(differing_blocks(*format, blocks, expected->data, source), allowed_differences(format->dtype));
}

TEST_P(QuantGolden, PackingWithImportanceWritesTheBytesOfGgmlsReferenceQuantizer) {
  const BlockFormat* format = find_block_format(GetParam().dtype);
  const std::vector<float> source = floats(goldens_.get("source"));
  const std::vector<float> importance = floats(goldens_.get("imatrix"));
  const SafetensorsTensor& expected = goldens_.get(std::string(GetParam().name) + ".imatrix.bytes");
  std::vector<std::byte> blocks(expected.data.size());
  const size_t columns = importance.size();
  const size_t rows = source.size() / columns;
  for (size_t row = 0; row < rows; ++row) {
    const auto values = std::span(source).subspan(row * columns, columns);
    std::byte* target = blocks.data() + row * (blocks.size() / rows);
    if (format->pack_weighted != nullptr)
      format->pack_weighted(values, importance, target);
    else
      format->pack(values, target);
  }
  EXPECT_EQ(differing_blocks(*format, blocks, expected.data, source), allowed_differences(format->dtype));
}

INSTANTIATE_TEST_SUITE_P(Formats, QuantGolden, ::testing::ValuesIn(kGoldens),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace wick
