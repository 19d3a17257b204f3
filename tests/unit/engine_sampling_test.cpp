#include "wick/engine/sampling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "unit/sampling_draws.h"
#include "wick/base/error.h"

namespace wick {
namespace {

using testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Every filter off, seed fixed.
SamplingParams plain() {
  return {.temperature = 1,
          .top_k = 0,
          .top_p = 1,
          .min_p = 0,
          .repetition_penalty = 1,
          .presence_penalty = 0,
          .frequency_penalty = 0,
          .penalty_window = -1,
          .seed = 1};
}

TEST(Sampling, TemperatureZeroChoosesTheFirstOfTheHighest) {
  SamplingParams params = plain();
  params.temperature = 0;
  EXPECT_EQ(Sampler(params).sample(std::vector<float>{1, 3, 3, 2}), 1);
  params.seed.reset();
  EXPECT_EQ(Sampler(params).sample(std::vector<float>{-5, -3, -4}), 1);
}

TEST(Sampling, ABiasIsAddedToItsTokensLogit) {
  SamplingParams params = plain();
  params.temperature = 0;
  params.logit_bias = {{.token = 3, .bias = 1.5F}, {.token = 1, .bias = -100}, {.token = 7, .bias = 100}};
  EXPECT_EQ(Sampler(params).sample(std::vector<float>{1, 9, 2, 1}), 3);
  params.logit_bias = {{.token = 3, .bias = 101}, {.token = -1, .bias = 0}};
  EXPECT_EQ(find_violations(params).size(), 2U);
}

TEST(Sampling, FrequenciesFollowTheSoftmaxAtEachTemperature) {
  const std::vector<double> probabilities = {0.1, 0.6, 0.3};
  for (const double temperature : {0.5, 1.0, 2.0}) {
    SamplingParams params = plain();
    params.temperature = static_cast<float>(temperature);
    double sum = 0;
    for (const double probability : probabilities) sum += std::pow(probability, 1 / temperature);
    auto counts = draw(params, logits_of(probabilities), 20000);
    for (int32_t token = 0; token < 3; ++token) {
      const double expected = std::pow(probabilities[static_cast<size_t>(token)], 1 / temperature) / sum;
      // Five standard deviations of a binomial.
      EXPECT_NEAR(counts[token] / 20000.0, expected, 5 * std::sqrt(expected / 20000))
          << "temperature " << temperature << " token " << token;
    }
  }
}

// The distribution of each way to draw, computed here by the definitions of its steps.
TEST(Sampling, TheDistributionIsThatAfterTheFilters) {
  const std::vector<float> logits = logits_of({0.05, 0.5, 0.15, 0.3});
  const auto expect_distribution = [&](const SamplingParams& params, const std::vector<std::pair<int32_t, double>>& wanted,
                                       const std::vector<uint64_t>& mask = {}) {
    Sampler sampler(params);
    const DrawnToken drawn = sampler.sample_with_distribution(logits, mask);
    ASSERT_EQ(drawn.distribution.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_EQ(drawn.distribution[i].token, wanted[i].first);
      EXPECT_NEAR(drawn.distribution[i].probability, wanted[i].second, 1e-5);
    }
    EXPECT_EQ(drawn.token, Sampler(params).sample(logits, mask)) << "the same token as without the distribution";
  };
  SamplingParams params = plain();
  expect_distribution(params, {{1, 0.5}, {3, 0.3}, {2, 0.15}, {0, 0.05}});
  expect_distribution(params, {{1, 0.5 / 0.65}, {2, 0.15 / 0.65}}, {0b0110});
  params.top_k = 3;
  params.temperature = 0.5;
  const double squares = 0.5 * 0.5 + 0.3 * 0.3 + 0.15 * 0.15;
  expect_distribution(params, {{1, 0.25 / squares}, {3, 0.09 / squares}, {2, 0.0225 / squares}});
  params = plain();
  params.top_p = 0.7F;
  expect_distribution(params, {{1, 0.625}, {3, 0.375}});
  params = plain();
  params.xtc_probability = 1;
  params.xtc_threshold = 0.2F;  // of 0.5 and 0.3 the less likely stays
  expect_distribution(params, {{3, 0.6}, {2, 0.3}, {0, 0.1}});
  params = plain();
  params.logit_bias = {{.token = 1, .bias = -100}};
  params.mirostat = 2;
  params.mirostat_tau = 0.1F;  // a surprise of at most 0.2 bits: the most likely alone
  expect_distribution(params, {{3, 1}});
  params = plain();
  params.temperature = 0;
  expect_distribution(params, {{1, 1}});
  expect_distribution(params, {{3, 1}}, {0b1101});
}

TEST(Sampling, GreedyTakesTheFirstOfEqualLogitsInVocabulariesOfAnySize) {
  std::mt19937 random(3);
  Sampler sampler({.temperature = 0});
  for (const size_t size : {1, 2, 15, 16, 17, 255, 256, 257, 511, 600, 1000}) {
    for (int round = 0; round < 20; ++round) {
      std::vector<float> logits(size);
      for (float& logit : logits) logit = round == 0 ? -kInfinity : static_cast<float>(static_cast<int>(random() % 40) - 60);
      if (round == 0) logits.back() = -3;
      EXPECT_EQ(sampler.sample(logits), std::max_element(logits.begin(), logits.end()) - logits.begin()) << size;
    }
  }
}

TEST(Sampling, TopKOneIsGreedyAtAnyTemperature) {
  SamplingParams params = plain();
  params.temperature = 2;
  params.top_k = 1;
  EXPECT_THAT(draw(params, {1.0F, 1.2F, 1.1F}), testing::ElementsAre(testing::Pair(1, 4000)));
}

TEST(Sampling, TopKKeepsTheLikeliest) {
  SamplingParams params = plain();
  params.top_k = 2;
  const auto counts = draw(params, logits_of({0.3, 0.2, 0.5}));
  EXPECT_THAT(counts, testing::ElementsAre(testing::Key(0), testing::Key(2)));
}

TEST(Sampling, TopPKeepsTheFewestThatReachIt) {
  SamplingParams params = plain();
  params.top_p = 0.6F;
  EXPECT_THAT(draw(params, logits_of({0.2, 0.5, 0.3})), testing::ElementsAre(testing::Key(1), testing::Key(2)));
  params.top_p = 0.4F;
  EXPECT_THAT(draw(params, logits_of({0.2, 0.5, 0.3})), testing::ElementsAre(testing::Key(1)));
  params.top_p = 0;
  EXPECT_THAT(draw(params, logits_of({0.2, 0.5, 0.3})), testing::ElementsAre(testing::Key(1)));
}

TEST(Sampling, TopPCountsWhatTopKLeft) {
  SamplingParams params = plain();
  params.top_k = 2;
  params.top_p = 0.6F;  // of 0.5 and 0.3, which are 0.625 and 0.375 of what is left
  EXPECT_THAT(draw(params, logits_of({0.2, 0.5, 0.3})), testing::ElementsAre(testing::Key(1)));
}

TEST(Sampling, MinPDropsWhatIsFarBelowTheLikeliest) {
  SamplingParams params = plain();
  params.min_p = 0.5F;
  EXPECT_THAT(draw(params, logits_of({0.2, 0.5, 0.3})), testing::ElementsAre(testing::Key(1), testing::Key(2)));
  params.min_p = 1;
  EXPECT_THAT(draw(params, logits_of({0.2, 0.5, 0.3})), testing::ElementsAre(testing::Key(1)));
}

TEST(Sampling, FiltersLookAtTheDistributionBeforeTemperature) {
  SamplingParams params = plain();
  params.temperature = 2;
  params.min_p = 0.5F;  // at temperature 2 the third would be at 0.63 of the first
  EXPECT_THAT(draw(params, logits_of({0.2, 0.5, 0.3})), testing::ElementsAre(testing::Key(1), testing::Key(2)));
}

TEST(Sampling, RepetitionPenaltyDividesPositiveAndMultipliesNegativeLogits) {
  SamplingParams params = plain();
  params.temperature = 0;
  params.repetition_penalty = 1.5F;
  Sampler positive(params);
  positive.accept(0);
  EXPECT_EQ(positive.sample(std::vector<float>{2.0F, 1.4F}), 1);  // 2 / 1.5 = 1.33
  EXPECT_EQ(positive.sample(std::vector<float>{2.0F, 1.3F}), 0);
  EXPECT_EQ(positive.sample(std::vector<float>{-1.0F, -1.4F}), 1);  // -1 · 1.5 = -1.5
  EXPECT_EQ(positive.sample(std::vector<float>{-1.0F, -1.6F}), 0);
}

TEST(Sampling, PresencePenaltyCountsATokenOnceAndFrequencyPenaltyEachTime) {
  const std::vector<float> logits = {2.0F, 0.5F};
  SamplingParams params = plain();
  params.temperature = 0;
  params.presence_penalty = 1;
  Sampler presence(params);
  for (int time = 0; time < 5; ++time) presence.accept(0);
  EXPECT_EQ(presence.sample(logits), 0);
  params.presence_penalty = 0;
  params.frequency_penalty = 1;
  Sampler frequency(params);
  frequency.accept(0);
  EXPECT_EQ(frequency.sample(logits), 0);
  frequency.accept(0);
  EXPECT_EQ(frequency.sample(logits), 1);
}

TEST(Sampling, PenaltiesForgetWhatLeftTheWindow) {
  SamplingParams params = plain();
  params.temperature = 0;
  params.presence_penalty = 2;
  params.penalty_window = 2;
  Sampler sampler(params);
  const std::vector<float> logits = {1.0F, 0.0F, -5.0F};
  sampler.accept(0);
  sampler.accept(2);
  EXPECT_EQ(sampler.sample(logits), 1);
  sampler.accept(2);
  EXPECT_EQ(sampler.sample(logits), 0);
  params.penalty_window = 0;
  Sampler without(params);
  without.accept(0);
  EXPECT_EQ(without.sample(logits), 0);
}

TEST(Sampling, TheSameSeedGivesTheSameTokens) {
  const std::vector<float> logits(64, 0.0F);
  const auto tokens = [&](uint64_t seed) {
    SamplingParams params = plain();
    params.seed = seed;
    Sampler sampler(params);
    std::vector<int32_t> chosen;
    for (int index = 0; index < 32; ++index) chosen.push_back(sampler.sample(logits));
    return chosen;
  };
  EXPECT_EQ(tokens(7), tokens(7));
  EXPECT_NE(tokens(7), tokens(8));
}

// Philox 4x32-10 (Salmon et al. 2011): with the key 5489 the first word of block 0 is 3810316715, which is 0.887158… of 2^32.
TEST(Sampling, RandomNumbersAreTheSameOnEveryMachine) {
  SamplingParams params = plain();
  params.seed = 5489;
  EXPECT_EQ(Sampler(params).sample(std::vector<float>(8, 0.0F)), 7);
  EXPECT_EQ(Sampler(params).sample(std::vector<float>(1000, 0.0F)), 887);
}

TEST(Sampling, WithoutASeedOneIsDrawnAndTold) {
  SamplingParams params = plain();
  params.seed.reset();
  const Sampler first(params);
  const Sampler second(params);
  EXPECT_NE(first.seed(), second.seed());
  params.seed = 12;
  EXPECT_EQ(Sampler(params).seed(), 12U);
}

TEST(Sampling, LogitsThatAreNoNumbersAreAnError) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity}) {
    for (const float temperature : {0.0F, 1.0F}) {
      SamplingParams params = plain();
      params.temperature = temperature;
      Sampler sampler(params);
      EXPECT_THROW((void)sampler.sample(std::vector<float>{1, bad, 2}), Error);
      EXPECT_THROW((void)sampler.sample(std::vector<float>{bad, 1, 2}), Error);
    }
  }
  Sampler sampler(plain());
  EXPECT_THROW((void)sampler.sample(std::vector<float>{-kInfinity, -kInfinity}), Error);
  EXPECT_THROW((void)sampler.sample({}), Error);
}

TEST(Sampling, MinusInfinityIsNeverChosen) {
  EXPECT_THAT(draw(plain(), {-kInfinity, 0.0F, -kInfinity}), testing::ElementsAre(testing::Key(1)));
}

TEST(Sampling, EveryParameterOutsideItsRangeIsNamed) {
  const SamplingParams params{.temperature = 100.5F,
                              .top_k = -1,
                              .top_p = 1.5F,
                              .min_p = -0.1F,
                              .repetition_penalty = 3,
                              .presence_penalty = -3,
                              .frequency_penalty = std::numeric_limits<float>::quiet_NaN(),
                              .penalty_window = -2,
                              .seed = {}};
  std::vector<std::string> names;
  for (const ParameterViolation& violation : find_violations(params)) names.push_back(violation.parameter);
  EXPECT_THAT(names, testing::ElementsAre("temperature", "top_k", "top_p", "min_p", "repetition_penalty", "presence_penalty",
                                          "frequency_penalty", "penalty_window"));
  try {
    const Sampler sampler(params);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("temperature 100.5: must be from 0 to 100"));
  }
}

}  // namespace
}  // namespace wick
