// Numbers that commands report: means with their errors, log-probabilities of files, divergences, statistics of tensors.
#include "wick/cli/measure/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numbers>
#include <vector>

#include "unit/temporary_folder.h"
#include "wick/base/error.h"
#include "wick/cli/commands/gguf_edit.h"
#include "wick/cli/commands/quantize_types.h"
#include "wick/cli/flags/wrap.h"
#include "wick/cli/measure/base_logits.h"
#include "wick/cli/measure/divergence.h"
#include "wick/cli/measure/model_statistics.h"

namespace wick {
namespace {

TEST(RunningMean, HasTheSampleDeviationAndTheErrorOfTheMean) {
  RunningMean mean;
  for (const double value : {2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0}) mean.add(value);
  EXPECT_DOUBLE_EQ(mean.mean(), 5);
  EXPECT_DOUBLE_EQ(mean.deviation(), std::sqrt(32.0 / 7));
  EXPECT_DOUBLE_EQ(mean.error(), std::sqrt(32.0 / 7 / 8));
  EXPECT_EQ(RunningMean().error(), 0);
}

TEST(Quantile, LiesBetweenNeighbours) {
  EXPECT_EQ(quantile({1, 2, 3}, 0.5), 2);
  EXPECT_EQ(quantile({1, 2, 3}, 0.75), 2.5);
  EXPECT_EQ(quantile({1, 2, 3}, 1), 3);
}

// KL((1/2, 1/4, 1/4) || (1/4, 1/2, 1/4)) = 1/2 ln 2 - 1/4 ln 2.
TEST(Divergence, IsKullbackAndLeiblers) {
  const std::vector<float> base = {std::log(0.5F), std::log(0.25F), std::log(0.25F)};
  const std::vector<float> logits = {1 + std::log(0.25F), 1 + std::log(0.5F), 1 + std::log(0.25F)};
  Divergence divergence;
  divergence.add(base, logits, 0);
  const nlohmann::ordered_json json = divergence.to_json();
  EXPECT_NEAR(json["mean"].get<double>(), std::numbers::ln2 / 4, 1e-6);
  EXPECT_NEAR(json["base_perplexity"].get<double>(), 2, 1e-6);
  EXPECT_NEAR(json["ln_perplexity_ratio"].get<double>(), std::numbers::ln2, 1e-6);
  EXPECT_NEAR(json["rms_change_of_probability"].get<double>(), 0.25, 1e-6);
  EXPECT_EQ(json["same_top_token"], 0);
}

TEST(BaseLogits, ComeBackWithin16Bits) {
  const TemporaryFolder folder;
  const BaseLogitsHeader header{.context = 4, .vocabulary = 3, .chunks = 1, .tokens = {0, 1, 2, 0}};
  BaseLogitsWriter writer(folder / "base", header);
  writer.add(std::vector<float>{0, 1, 2});
  writer.finish();
  const BaseLogits base = BaseLogits::open(folder / "base");
  EXPECT_EQ(base.header().tokens, header.tokens);
  EXPECT_EQ(base.header().rows_per_chunk(), 1);
  std::vector<float> row(3);
  base.read_row(0, row);
  const double log_sum = std::log(1 + std::exp(1.0) + std::exp(2.0));
  for (size_t id = 0; id < 3; ++id) EXPECT_NEAR(row[id], static_cast<double>(id) - log_sum, 1e-4);
}

TEST(BaseLogits, FilesThatContradictThemselvesAreRefused) {
  const TemporaryFolder folder;
  const auto open = [&](std::vector<int32_t> sizes, size_t more) {
    std::vector<std::byte> bytes(8);
    std::memcpy(bytes.data(), "_logits_", 8);
    const auto numbers = std::as_bytes(std::span(sizes));
    bytes.insert(bytes.end(), numbers.begin(), numbers.end());
    bytes.resize(bytes.size() + more);
    write_bytes(folder / "base", bytes);
    return BaseLogits::open(folder / "base");
  };
  EXPECT_NO_THROW((void)open({4, 3, 1}, 16 + 16));
  EXPECT_THROW((void)open({4, 3, 1}, 16 + 15), Error);
  EXPECT_THROW((void)open({-4, 3, 1}, 100), Error);
  EXPECT_THROW((void)open({1 << 24, 1 << 24, 1 << 24}, 100), Error);
  EXPECT_THROW((void)open({2, 3, 1}, 100), Error);  // no row of a chunk of 2 is scored
  EXPECT_THROW((void)open({4}, 0), Error);
}

TEST(MetadataChange, TypesAreThoseOfLlamaCppsOverrides) {
  EXPECT_EQ(parse_metadata_change("a.b=u32:7").type, "u32");
  EXPECT_EQ(parse_metadata_change("a.b=u32:7").value, "7");
  EXPECT_EQ(parse_metadata_change("url=http://x").value, "http://x");  // http is no type
  EXPECT_EQ(parse_metadata_change("a=").value, "");
  EXPECT_THROW((void)parse_metadata_change("a"), Error);
  EXPECT_THROW((void)parse_metadata_change("=a"), Error);
}

TEST(QuantizeTypes, EveryMixHasAdviceAndFewerBitsForSmallerNames) {
  for (const MixInfo& mix : mix_infos()) {
    EXPECT_FALSE(mix.use.empty()) << mix.name;
    EXPECT_LE(bits_per_weight(mix), 32.001) << mix.name;
  }
  EXPECT_NEAR(bits_per_weight(parse_mix("Q8_0")), 8.5, 0.01);
  EXPECT_GT(bits_per_weight(parse_mix("Q4_K_M")), bits_per_weight(parse_mix("Q4_K_S")));
  EXPECT_GT(bits_per_weight(parse_mix("Q4_K_S")), 4.5);
}

TEST(Wrap, KeepsWordsLinesAndExamples) {
  EXPECT_EQ(wrap("one two three", 0, 8), "one two\nthree");
  EXPECT_EQ(wrap("one two three", 2, 9), "one two\n  three");
  EXPECT_EQ(wrap("größer ist", 0, 10), "größer ist");  // columns, not bytes
  EXPECT_EQ(wrap("a\n\n  an example that is long\nb", 0, 8), "a\n\n  an example that is long\nb");
}

TEST(Policy, TheBuiltInOneTakesUsualModelsAndRefusesEmptyOnes) {
  const Policy policy = builtin_policy();
  TensorStatistics norm{.name = "blk.0.attn_norm.weight", .elements = 64, .rms = 0.8, .minimum = 0, .maximum = 1};
  EXPECT_TRUE(violations(policy, norm).empty());
  norm.rms = 0;
  norm.zeros = 1;
  EXPECT_EQ(violations(policy, norm).size(), 2U);
  norm.nonfinite = 1;
  EXPECT_THAT(violations(policy, norm).front(), testing::HasSubstr("1 of 64 numbers are NaN or infinite"));
}

}  // namespace
}  // namespace wick
