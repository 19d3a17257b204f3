// The definition of sampling: its weights beside the exponential, filters beside sets chosen by hand, and shares beside the softmax.
#include "wick/op/sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <vector>

namespace wick {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();

std::set<int32_t> drawn(const std::vector<float>& logits, SampleSettings settings, int draws = 2000) {
  std::set<int32_t> tokens;
  for (int i = 0; i < draws; ++i) {
    settings.number = static_cast<uint64_t>(i);
    tokens.insert(sample_token(logits, settings));
  }
  return tokens;
}

TEST(SampleToken, WeightsAreTheExponentialToTheirLastBits) {
  EXPECT_EQ(sample_weight(0), 1U << 26);
  for (double x = 0; x > -20; x -= 0.0078125) {
    const double exact = std::exp(x) * 0x1p26;
    EXPECT_NEAR(sample_weight(static_cast<float>(x)), exact, 1 + exact * 2e-7) << x;
  }
  EXPECT_EQ(sample_weight(-40), 0U);
  EXPECT_EQ(sample_weight(-kInfinite), 0U);
}

TEST(SampleToken, NoTemperatureTakesTheFirstOfTheMostLikely) {
  EXPECT_EQ(sample_token(std::vector<float>{1, 3, 3, 2}, {.inverse_temperature = 0, .top_k = 1, .seed = 5}), 1);
}

TEST(SampleToken, RowsWithoutADistributionGiveMinusOne) {
  EXPECT_EQ(sample_token({}, {}), -1);
  EXPECT_EQ(sample_token(std::vector<float>{1, std::nanf("")}, {}), -1);
  EXPECT_EQ(sample_token(std::vector<float>{1, kInfinite}, {.inverse_temperature = 0}), -1);
  EXPECT_EQ(sample_token(std::vector<float>{-kInfinite, -kInfinite}, {}), -1);
}

TEST(SampleToken, FiltersLeaveTheTokensThatTheyNameByTheModelsOwnDistribution) {
  // Probabilities of about 0.1, 0.5, 0.25, 0.15 and none.
  const std::vector<float> logits = {std::log(0.1F), std::log(0.5F), std::log(0.25F), std::log(0.15F), -kInfinite};
  EXPECT_EQ(drawn(logits, {.seed = 1}), (std::set<int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(drawn(logits, {.top_k = 2, .seed = 1}), (std::set<int32_t>{1, 2}));
  EXPECT_EQ(drawn(logits, {.top_p = 0.8F, .seed = 1}), (std::set<int32_t>{1, 2, 3}));
  EXPECT_EQ(drawn(logits, {.top_p = 0.7F, .seed = 1}), (std::set<int32_t>{1, 2}));
  EXPECT_EQ(drawn(logits, {.top_p = 0, .seed = 1}), (std::set<int32_t>{1}));
  EXPECT_EQ(drawn(logits, {.min_p = 0.25F, .seed = 1}), (std::set<int32_t>{1, 2, 3}));
  // Of the three most likely tokens, whose shares are 0.56, 0.28 and 0.17, two sum up to 0.8.
  EXPECT_EQ(drawn(logits, {.top_k = 3, .top_p = 0.8F, .seed = 1}), (std::set<int32_t>{1, 2}));
  // A high temperature flattens what filters leave, and lets nothing else in.
  EXPECT_EQ(drawn(logits, {.inverse_temperature = 0.01F, .min_p = 0.25F, .seed = 1}), (std::set<int32_t>{1, 2, 3}));
}

TEST(SampleToken, TokensAsLikelyAsTheLastToStayStayToo) {
  const std::vector<float> logits = {1, 2, 1, 1};
  EXPECT_EQ(drawn(logits, {.top_k = 2, .seed = 3}), (std::set<int32_t>{0, 1, 2, 3}));
}

TEST(SampleToken, SharesAreThoseOfTheSoftmax) {
  const std::vector<float> logits = {0, 1, 2, -1, 0.5F, 1.5F};
  constexpr int kDraws = 200000;
  for (const float inverse_temperature : {1.0F, 0.5F}) {
    std::vector<double> shares;
    double sum = 0;
    for (const float logit : logits) sum += shares.emplace_back(std::exp(static_cast<double>(logit * inverse_temperature)));
    std::vector<int> counts(logits.size());
    for (int i = 0; i < kDraws; ++i) {
      const SampleSettings settings{.inverse_temperature = inverse_temperature, .seed = 17, .number = static_cast<uint64_t>(i)};
      ++counts[static_cast<size_t>(sample_token(logits, settings))];
    }
    double chi = 0;
    for (size_t i = 0; i < shares.size(); ++i) {
      const double expected = shares[i] / sum * kDraws;
      chi += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    EXPECT_LT(chi, 20.5) << "of five degrees of freedom, 0.001 of all seeds give more";
  }
}

}  // namespace
}  // namespace wick
