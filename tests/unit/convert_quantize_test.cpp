// wick quantize against llama.cpp's own files (quantize-oracle.json), and what goes wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "unit/shared_data.h"
#include "unit/temporary_folder.h"
#include "wick/base/error.h"
#include "wick/cli/hub/sha256.h"
#include "wick/convert/quantize_file.h"
#include "wick/formats/gguf_type.h"
#include "wick/formats/gguf_writer.h"
#include "wick/formats/importance_matrix.h"

namespace wick {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

TEST(Sha256, IsThatOfTheStandardsExample) {
  EXPECT_EQ(sha256_of(std::as_bytes(std::span("abc", 3))), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

class QuantizeOracle : public testing::TestWithParam<const char*> {};

TEST_P(QuantizeOracle, EveryTensorHasTheTypeAndBytesOfLlamaCpp) {
  const auto oracle_path = shared_data("data/quant/quantize-oracle.json");
  if (!oracle_path) GTEST_SKIP() << kSharedDataMissing;
  std::ifstream stream(*oracle_path);
  const auto oracle = nlohmann::json::parse(stream)[GetParam()];
  const TemporaryFolder folder;
  quantize_file(GgufFile::open(source_file("models/novelist-20m-q8_0.gguf")), folder / "out.gguf",
                {.mix = &parse_mix(GetParam()), .threads = 2, .allow_requantize = true});
  const GgufFile written = GgufFile::open(folder / "out.gguf");
  EXPECT_EQ(written.get_uint("general.file_type"), parse_mix(GetParam()).file_type);
  ASSERT_EQ(written.tensors().size(), oracle.size());
  for (const auto& [name, expected] : oracle.items()) {
    const GgufTensor* tensor = written.find_tensor(name);
    ASSERT_NE(tensor, nullptr) << name;
    EXPECT_EQ(ggml_name(tensor->dtype), expected[0].get<std::string>()) << name;
    EXPECT_EQ(sha256_of(tensor->data), expected[1].get<std::string>()) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Mixes, QuantizeOracle,
                         testing::Values("BF16", "F16", "IQ3_S", "IQ4_NL", "IQ4_XS", "MXFP4_MOE", "Q2_K", "Q3_K_L", "Q3_K_M", "Q3_K_S",
                                         "Q4_0", "Q4_1", "Q4_K_M", "Q4_K_S", "Q5_0", "Q5_1", "Q5_K_M", "Q5_K_S", "Q6_K", "Q8_0", "TQ1_0",
                                         "TQ2_0"),
                         [](const auto& info) { return std::string(info.param); });

// A model of one matrix.
std::filesystem::path write_model(const TemporaryFolder& folder, const Shape& shape, const std::vector<float>& values) {
  GgufWriter writer;
  writer.add_string("general.architecture", "llama");
  writer.add_uint("llama.block_count", 1);
  writer.add_tensor("blk.0.ffn_up.weight", DType::f32, shape, std::as_bytes(std::span(values)));
  writer.write(folder / "in.gguf");
  return folder / "in.gguf";
}

std::vector<float> waves(size_t count) {
  std::vector<float> values(count);
  for (size_t index = 0; index < count; ++index) values[index] = std::sin(static_cast<float>(index));
  return values;
}

Error refusal(const std::filesystem::path& in, const std::filesystem::path& out, const QuantizeOptions& options) {
  try {
    quantize_file(GgufFile::open(in), out, options);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was refused";
  return Error(ErrorCode::io, "");
}

TEST(Quantize, RowsThatNoBlockDividesFallBackAndSaySo) {
  const TemporaryFolder folder;
  for (const auto& [columns, dtype] : {std::pair<int64_t, DType>{96, DType::q5_0}, {33, DType::f16}}) {
    const auto in = write_model(folder, {4, columns}, waves(static_cast<size_t>(4 * columns)));
    std::vector<std::string> notices;
    QuantizeOptions options{.mix = &parse_mix("q4_k_m")};
    options.notice = [&](const std::string& remark) { notices.push_back(remark); };
    quantize_file(GgufFile::open(in), folder / "out.gguf", options);
    EXPECT_EQ(GgufFile::open(folder / "out.gguf").tensors()[0].dtype, dtype);
    ASSERT_EQ(notices.size(), 1u);
    EXPECT_THAT(notices[0], HasSubstr("no multiple of Q4_K's block of 256; " + std::string(ggml_name(dtype)) + " stands in"));
  }
}

TEST(Quantize, TensorsWithoutRowsAreWritten) {
  const TemporaryFolder folder;
  const auto in = write_model(folder, {0, 256}, {});
  quantize_file(GgufFile::open(in), folder / "out.gguf", {.mix = &parse_mix("Q4_K_M"), .threads = 2});
  EXPECT_EQ(GgufFile::open(folder / "out.gguf").tensors()[0].data.size(), 0u);
}

TEST(Quantize, NaNAndInfinityAreRefusedNamingTensorAndRow) {
  const TemporaryFolder folder;
  for (const float odd : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    std::vector<float> values = waves(4 * 256);
    values[2 * 256 + 17] = odd;
    const auto in = write_model(folder, {4, 256}, values);
    const Error error = refusal(in, folder / "out.gguf", {.mix = &parse_mix("Q4_0"), .threads = 2});
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.what(), HasSubstr("tensor 'blk.0.ffn_up.weight' row 2: a weight is NaN or infinite"));
    EXPECT_EQ(folder.names(), std::vector<std::string>{"in.gguf"});
    quantize_file(GgufFile::open(in), folder / "half.gguf", {.mix = &parse_mix("F16")});
    std::filesystem::remove(folder / "half.gguf");
  }
}

// Models read the scale of a feed-forward matrix in NVFP4, but not of one in Q8_0.
TEST(Quantize, NvFp4TakesInItsScaleWhereItGetsAnotherType) {
  const TemporaryFolder folder;
  std::vector<std::byte> blocks(2 * 2 * 36);
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<std::byte>(i % 36 < 4 ? 0x38 : 0x12);  // scales of 1, codes 2 and 1
  const std::vector<float> scales = {0.5F, -3.0F};
  GgufWriter writer;
  writer.add_string("general.architecture", "llama");
  writer.add_tensor("blk.0.ffn_up_exps.weight", DType::nvfp4, {2, 2, 64}, blocks);
  writer.add_tensor("blk.0.ffn_up_exps.scale", DType::f32, {2}, std::as_bytes(std::span(scales)));
  writer.write(folder / "in.gguf");
  quantize_file(GgufFile::open(folder / "in.gguf"), folder / "out.gguf", {.mix = &parse_mix("F32"), .threads = 1});
  const GgufFile out = GgufFile::open(folder / "out.gguf");
  const auto floats = [&](const char* name) {
    const std::span<const std::byte> data = out.find_tensor(name)->data;
    std::vector<float> values(data.size() / sizeof(float));
    std::memcpy(values.data(), data.data(), data.size());
    return values;
  };
  EXPECT_EQ(floats("blk.0.ffn_up_exps.scale"), (std::vector<float>{1, 1}));
  const std::vector<float> values = floats("blk.0.ffn_up_exps.weight");
  ASSERT_EQ(values.size(), 2U * 2 * 64);
  // Elements 0 to 7 of a run have the low codes, 2 for 1, the others the high ones, 1 for 0.5.
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], (i % 16 < 8 ? 1.0F : 0.5F) * scales[i / 128]) << i;
  quantize_file(GgufFile::open(folder / "in.gguf"), folder / "same.gguf", {.mix = &parse_mix("NVFP4"), .threads = 1});
  const GgufFile same = GgufFile::open(folder / "same.gguf");
  const std::span<const std::byte> kept = same.find_tensor("blk.0.ffn_up_exps.scale")->data;
  EXPECT_EQ(std::memcmp(kept.data(), scales.data(), kept.size()), 0);
}

TEST(Quantize, LowBitTypesNeedImportance) {
  const TemporaryFolder folder;
  const auto in = write_model(folder, {4, 256}, waves(4 * 256));
  EXPECT_THAT(refusal(in, folder / "out.gguf", {.mix = &parse_mix("IQ2_XS")}).what(), HasSubstr("IQ2_XS needs an importance matrix"));
  ImportanceMatrix importance;
  importance.entries["blk.0.ffn_up.weight"] = {.sums = std::vector<float>(256, 2.0f), .counts = {2}};
  quantize_file(GgufFile::open(in), folder / "out.gguf", {.mix = &parse_mix("IQ2_XS"), .importance = &importance});
  EXPECT_EQ(GgufFile::open(folder / "out.gguf").tensors()[0].dtype, DType::iq2_xs);
  importance.entries["blk.0.ffn_up.weight"].sums.resize(255);
  EXPECT_THAT(refusal(in, folder / "out.gguf", {.mix = &parse_mix("Q4_K_S"), .importance = &importance}).what(),
              HasSubstr("the importance has 255 values, the tensor 256 columns"));
}

TEST(Quantize, AWeightThatTheImportanceLacksIsNamed) {
  const TemporaryFolder folder;
  const std::vector<float> values = waves(256 * 256);
  GgufWriter writer;
  writer.add_string("general.architecture", "llama");
  for (const char* name : {"output.weight", "blk.0.attn_q.weight", "blk.0.ffn_up.weight"}) {
    writer.add_tensor(name, DType::f32, {256, 256}, std::as_bytes(std::span(values)));
  }
  writer.write(folder / "in.gguf");
  ImportanceMatrix importance;
  importance.entries["blk.0.ffn_up.weight"] = {.sums = std::vector<float>(256, 2.0f), .counts = {2}};
  std::vector<std::string> notices, warnings;
  quantize_file(GgufFile::open(folder / "in.gguf"), folder / "out.gguf",
                {.mix = &parse_mix("Q4_K_S"),
                 .importance = &importance,
                 .notice = [&](const std::string& remark) { notices.push_back(remark); },
                 .warning = [&](const std::string& remark) { warnings.push_back(remark); }});
  EXPECT_EQ(warnings, std::vector<std::string>{"no importance is known of tensor 'blk.0.attn_q.weight'"});
  EXPECT_EQ(notices, std::vector<std::string>{"no importance is known of tensor 'output.weight'"});
}

// A weight whose inputs were all zero, as of an expert that no token went to, or a channel that is dead.
TEST(Quantize, BlocksOfNoImportanceAreQuantizedWithoutIt) {
  const TemporaryFolder folder;
  const auto in = write_model(folder, {4, 512}, waves(4 * 512));
  ImportanceMatrix importance;
  std::vector<float> sums(512, 2.0f);
  std::fill(sums.begin(), sums.begin() + 256, 0.0f);
  importance.entries["blk.0.ffn_up.weight"] = {.sums = sums, .counts = {2}};
  const auto first_blocks = [&](const char* name, const ImportanceMatrix* with) {
    quantize_file(GgufFile::open(in), folder / "out.gguf", {.mix = &parse_mix(name), .importance = with});
    const GgufFile written = GgufFile::open(folder / "out.gguf");
    const std::span<const std::byte> data = written.tensors()[0].data;
    std::vector<std::byte> blocks;  // the first 256 columns of each row
    for (size_t row = 0; row < 4; ++row) {
      const auto half = data.subspan(row * data.size() / 4, data.size() / 8);
      blocks.insert(blocks.end(), half.begin(), half.end());
    }
    return blocks;
  };
  for (const char* name : {"Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q2_K", "Q3_K_S", "Q4_K_S", "Q5_K_S", "Q6_K", "IQ3_S", "IQ4_NL", "IQ4_XS"}) {
    EXPECT_EQ(first_blocks(name, &importance), first_blocks(name, nullptr)) << name;
  }
}

TEST(Quantize, RemediesAreTheLibrarysSettings) {
  const TemporaryFolder folder;
  std::vector<float> values = waves(4 * 256);
  const auto in = write_model(folder, {4, 256}, values);
  const auto remedies = [&](const std::filesystem::path& model, const char* mix) {
    const Error error = refusal(model, folder / "out.gguf", {.mix = &parse_mix(mix)});
    EXPECT_THAT(error.what(), Not(HasSubstr("--")));
    return std::string(error.what());
  };
  EXPECT_THAT(remedies(in, "IQ2_XS"), EndsWith("; collect one with wick imatrix and give it by importance"));
  quantize_file(GgufFile::open(in), folder / "q8.gguf", {.mix = &parse_mix("Q8_0")});
  EXPECT_THAT(remedies(folder / "q8.gguf", "Q4_0"), EndsWith("; start from an F16, BF16 or F32 model, or give allow_requantize"));
  values[3] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(remedies(write_model(folder, {4, 256}, values), "Q4_0"),
              EndsWith("; repair the model, or keep this tensor as it is by keep='blk.0.ffn_up.weight=f16'"));
  for (const char* bad : {"ffn_up", "=q8_0", "a=q9", "(=q8_0"}) {
    try {
      static_cast<void>(parse_keep_rule(bad));
      ADD_FAILURE() << bad;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr(bad), Not(HasSubstr("--"))));
    }
  }
}

TEST(Quantize, KeepRulesOverrideTheMix) {
  const TemporaryFolder folder;
  const auto in = write_model(folder, {4, 256}, waves(4 * 256));
  quantize_file(GgufFile::open(in), folder / "out.gguf", {.mix = &parse_mix("Q4_0"), .keep = {parse_keep_rule("ffn_(up|gate)=q6_k")}});
  EXPECT_EQ(GgufFile::open(folder / "out.gguf").tensors()[0].dtype, DType::q6_k);
  for (const char* bad : {"ffn_up", "=q8_0", "a=q9", "a=q8_k", "(=q8_0"})
    EXPECT_THROW(static_cast<void>(parse_keep_rule(bad)), Error) << bad;
  EXPECT_THROW(static_cast<void>(parse_mix("Q9_K")), Error);
}

TEST(Quantize, KeepRuleOfTooManyStepsIsOneErrorThatNamesIt) {
  const std::string name = "blk.0." + std::string(60, 'x') + "zy.weight";
  std::vector<GgufTensor> tensors(1);
  tensors[0].name = name;
  tensors[0].shape = Shape{4, 256};
  const QuantizeSource source{.architecture = "llama", .layers = 1, .tensors = tensors};
  const KeepRule rule = parse_keep_rule("(x+x+)+y=q8_0");
  try {
    static_cast<void>(plan_quantization(source, parse_mix("Q4_0"), std::span(&rule, 1), false));
    FAIL() << "a pattern that backtracks without end was matched";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_THAT(error.what(), HasSubstr("rule '(x+x+)+y=q8_0'"));
  }
}

TEST(Quantize, KeepRuleIsMatchedAgainstNamesThatAreNotUtf8) {
  std::vector<GgufTensor> tensors(1);
  tensors[0].name = "blk.0.\xff\xfe.weight";
  tensors[0].shape = Shape{4, 256};
  const QuantizeSource source{.architecture = "llama", .layers = 1, .tensors = tensors};
  const KeepRule rule = parse_keep_rule("0\\.\\X+weight=q8_0");
  EXPECT_EQ(plan_quantization(source, parse_mix("Q4_0"), std::span(&rule, 1), false)[0].dtype, DType::q8_0);
}

TEST(ImportanceMatrix, BothFormsAreReadAsTheyWereWritten) {
  const TemporaryFolder folder;
  ImportanceMatrix matrix{.entries = {}, .datasets = {"text.txt"}, .chunks = 3, .chunk_tokens = 512};
  matrix.entries["blk.0.attn_q.weight"] = {.sums = {4, 8, 0}, .counts = {4}};
  matrix.entries["experts"] = {.sums = {4, 8, 9, 9}, .counts = {2, 0}};
  for (const char* name : {"a.gguf", "a.dat"}) {
    matrix.write(folder / name);
    const ImportanceMatrix read = ImportanceMatrix::read(folder / name);
    EXPECT_EQ(read.chunks, 3u);
    EXPECT_EQ(read.datasets, matrix.datasets);
    ASSERT_NE(read.find("experts"), nullptr);
    EXPECT_EQ(read.find("blk.0.attn_q.weight")->means(), (std::vector<float>{1, 2, 0}));
    EXPECT_EQ(read.find("experts")->means(), (std::vector<float>{2, 4, 1, 1}));
  }
}

TEST(ImportanceMatrix, BrokenFilesAreRefusedWithTheirPlace) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::vector<int32_t>& words) {
    write_bytes(folder / "a.dat", std::as_bytes(std::span(words)));
    try {
      static_cast<void>(ImportanceMatrix::read(folder / "a.dat"));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing was refused");
  };
  EXPECT_THAT(refused({}), HasSubstr("the file is empty"));
  EXPECT_THAT(refused({0}), HasSubstr("0 is below 1"));
  EXPECT_THAT(refused({1, 1000}), HasSubstr("1000 values at byte 8: only 0 bytes are left"));
  EXPECT_THAT(refused({1, 4, 0x61616161, 1, 1, 0x7fc00000}), HasSubstr("negative, NaN or infinite"));
}

}  // namespace
}  // namespace wick
