// The host's drawing of a token against its definition, and the sampler's against the op.
#include "wick/engine/token_draw.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "wick/engine/sampling.h"
#include "wick/tensor/ops/sample.h"

namespace wick {
namespace {

std::vector<float> random_logits(std::mt19937& random, size_t count) {
  std::normal_distribution<float> normal(0, random() % 2 == 0 ? 3.0F : 12.0F);
  std::vector<float> logits(count);
  // Of some, many are equal, or never to be drawn.
  const unsigned kind = random() % 4;
  for (float& logit : logits) {
    logit = normal(random);
    if (kind == 1) logit = std::round(logit);
    if (kind == 2 && random() % 3 != 0) logit = -std::numeric_limits<float>::infinity();
  }
  logits[random() % count] = 4;
  return logits;
}

SampleSettings random_settings(std::mt19937& random) {
  SampleSettings settings{.seed = random(), .number = random()};
  const auto one_of = [&](std::initializer_list<float> values) { return values.begin()[random() % values.size()]; };
  settings.inverse_temperature = 1 / one_of({0.05F, 0.5F, 0.8F, 1, 1.7F, 2});
  settings.top_k = static_cast<int64_t>(one_of({0, 1, 2, 40, 600, 5000}));
  settings.top_p = one_of({1, 0.95F, 0.5F, 0.01F, 0});
  settings.min_p = one_of({0, 0.05F, 0.5F, 1});
  return settings;
}

size_t first_largest(const std::vector<float>& logits) {
  return static_cast<size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

TEST(TokenDraw, DrawsWhatTheDefinitionDoes) {
  std::mt19937 random(3);
  TokenDraw draw;
  for (int round = 0; round < 5000; ++round) {
    const std::vector<float> logits = random_logits(random, 1 + random() % 1500);
    const SampleSettings settings = random_settings(random);
    ASSERT_EQ(draw(logits, first_largest(logits), settings), sample_token(logits, settings)) << round;
  }
}

TEST(TokenDraw, ASamplerDrawsWhatTheOpDraws) {
  std::mt19937 random(4);
  for (int round = 0; round < 40; ++round) {
    SamplingParams params{.temperature = round % 5 == 0 ? 0.0F : 0.8F, .seed = random()};
    if (round % 2 == 0) params.top_k = 0;
    if (round % 3 == 0) params.top_p = 1;
    Sampler sampler(params);
    for (int token = 0; token < 8; ++token) {
      const std::vector<float> logits = random_logits(random, 700);
      const std::optional<SampleSettings> settings = sampler.device_settings();
      ASSERT_TRUE(settings.has_value());
      const Tensor drawn = sample(Tensor::from_span(std::span(logits), {1, 700}, Device::cpu()), std::span(&*settings, 1));
      EXPECT_EQ(sampler.sample(logits), drawn.to_vector<int32_t>().front()) << round << ", " << token;
    }
  }
}

TEST(TokenDraw, WhatOnlyTheHostCanIsNoneOfTheDevice) {
  const auto has = [](const std::function<void(SamplingParams&)>& change) {
    SamplingParams params;
    change(params);
    return Sampler(params).device_settings().has_value();
  };
  EXPECT_TRUE(has([](SamplingParams&) {}));
  EXPECT_FALSE(has([](SamplingParams& params) { params.typical_p = 0.5F; }));
  EXPECT_FALSE(has([](SamplingParams& params) { params.top_n_sigma = 1; }));
  EXPECT_FALSE(has([](SamplingParams& params) { params.xtc_probability = 0.5F; }));
  EXPECT_FALSE(has([](SamplingParams& params) { params.mirostat = 2; }));
  EXPECT_FALSE(has([](SamplingParams& params) { params.repetition_penalty = 1.1F; }));
  EXPECT_FALSE(has([](SamplingParams& params) { params.dry_multiplier = 0.8F; }));
  EXPECT_FALSE(has([](SamplingParams& params) { params.logit_bias = {{3, 1.0F}}; }));
  EXPECT_FALSE(has([](SamplingParams& params) { params.order = {SamplingStep::temperature, SamplingStep::top_p}; }));
  EXPECT_TRUE(has([](SamplingParams& params) { params.order = {SamplingStep::top_k, SamplingStep::min_p}; }));
}

}  // namespace
}  // namespace wick
