// Every block format against ggml's own bytes and numbers (quant-blocks.safetensors).
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "formats/safetensors.h"
#include "quant/block_format.h"
#include "unit/shared_data.h"

namespace wick {
namespace {

struct GoldenFormat {
  DType dtype;
  const char* name;  // as the file spells it
};

constexpr GoldenFormat kGoldens[] = {
    {DType::f16, "f16"},   {DType::bf16, "bf16"}, {DType::q4_0, "q4_0"}, {DType::q8_0, "q8_0"},
    {DType::q4_k, "q4_K"}, {DType::q5_k, "q5_K"}, {DType::q6_k, "q6_K"},
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

TEST_P(QuantGolden, UnpackingIsBitExactWithGgml) {
  const BlockFormat* format = find_block_format(GetParam().dtype);
  ASSERT_NE(format, nullptr);
  for (const char* variant : {"", ".imatrix"}) {
    const std::string prefix = std::string(GetParam().name) + variant;
    const SafetensorsTensor& blocks = goldens_.get(prefix + ".bytes");
    const SafetensorsTensor& expected = goldens_.get(prefix + ".f32");
    std::vector<float> values(static_cast<size_t>(expected.shape.elements()));
    format->unpack(blocks.data.data(), values);
    EXPECT_EQ(std::memcmp(values.data(), expected.data.data(), expected.data.size()), 0) << prefix;
  }
}

TEST_P(QuantGolden, PackingWritesTheBytesOfGgmlsReferenceQuantizer) {
  const BlockFormat* format = find_block_format(GetParam().dtype);
  ASSERT_NE(format->pack, nullptr);
  const std::vector<float> source = floats(goldens_.get("source"));
  const SafetensorsTensor& expected = goldens_.get(std::string(GetParam().name) + ".bytes");
  std::vector<std::byte> blocks(expected.data.size());
  format->pack(source, blocks.data());
  size_t differing = 0;
  for (size_t index = 0; index < blocks.size(); ++index) differing += blocks[index] != expected.data[index] ? 1 : 0;
  EXPECT_EQ(differing, 0u) << "of " << blocks.size() << " bytes";
}

INSTANTIATE_TEST_SUITE_P(Formats, QuantGolden, ::testing::ValuesIn(kGoldens),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace wick
