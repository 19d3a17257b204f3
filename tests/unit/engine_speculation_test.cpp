#include "wick/engine/speculation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "unit/engine_samples.h"

namespace wick {
namespace {

using Sample = EngineSample;

TEST(Speculation, WhatFollowedTheLastTokensBeforeIsProposed) {
  NgramIndex index;
  std::vector<TokenId> text = {1, 2, 3, 4, 5, 6};
  EXPECT_TRUE(index.propose(text, 4).empty());
  for (const TokenId token : {1, 2, 3}) text.push_back(token);
  EXPECT_EQ(index.propose(text, 4), (std::vector<TokenId>{4, 5, 6, 1}));
  EXPECT_EQ(index.propose(text, 2), (std::vector<TokenId>{4, 5}));
  for (const TokenId token : {9, 1, 2, 3}) text.push_back(token);
  EXPECT_EQ(index.propose(text, 1), (std::vector<TokenId>{9})) << "the last place counts";
  EXPECT_TRUE(index.propose(std::vector<TokenId>{1, 2}, 4).empty());
}

// As many tokens as are wanted, also where less text than that follows.
TEST(Speculation, ATextThatRepeatsItselfIsProposedToGoOn) {
  NgramIndex index;
  EXPECT_EQ(index.propose(std::vector<TokenId>{7, 7, 7, 7}, 5), (std::vector<TokenId>{7, 7, 7, 7, 7}));
  NgramIndex pairs;
  EXPECT_EQ(pairs.propose(std::vector<TokenId>{9, 1, 2, 1, 2, 1}, 5), (std::vector<TokenId>{2, 1, 2, 1, 2}));
  NgramIndex long_period;
  EXPECT_EQ(long_period.propose(std::vector<TokenId>{1, 2, 3, 4, 5, 1, 2, 3}, 8), (std::vector<TokenId>{4, 5, 1, 2, 3, 4, 5, 1}));
}

TEST(Speculation, AcceptanceFollowsTheLastStepsAndForgets) {
  Acceptance acceptance;
  for (int step = 0; step < 20; ++step) acceptance.add(4, 4);
  EXPECT_GT(acceptance.probability(), 0.95);
  for (int step = 0; step < 20; ++step) acceptance.add(4, 0);
  const double low = acceptance.probability();
  EXPECT_LT(low, 0.4);
  for (int step = 0; step < 400; ++step) acceptance.fade();
  EXPECT_NEAR(acceptance.probability(), 0.6, 0.01);
}

TEST(Speculation, TheCostOfARowIsTheSlopeOfTheSteps) {
  StepCost cost;
  EXPECT_FALSE(cost.known());
  for (int step = 0; step < 60; ++step) {
    const int64_t rows = 1 + step % 8;
    cost.add(rows, 0.010 + 0.002 * static_cast<double>(rows));
  }
  EXPECT_NEAR(cost.row_seconds(), 0.002, 0.0002);
  EXPECT_NEAR(cost.seconds(1), 0.012, 0.001);
  cost.add(1, 10);  // a step that was disturbed
  EXPECT_NEAR(cost.row_seconds(), 0.002, 0.002);
}

// The best lengths by trying all of them: the tokens a second that are expected.
TEST(Speculation, LengthsAreThoseThatYieldTheMostTokensASecond) {
  StepCost cost;
  for (int step = 0; step < 60; ++step) cost.add(1 + step % 8, 0.010 + 0.003 * static_cast<double>(1 + step % 8));
  const std::vector<Proposal> proposals = {{0.9, 6}, {0.3, 6}, {0.7, 2}};
  const auto rate = [&](const std::vector<int64_t>& lengths) {
    double tokens = 3;
    int64_t rows = 3;
    for (size_t index = 0; index < lengths.size(); ++index) {
      for (int64_t token = 1; token <= lengths[index]; ++token) tokens += std::pow(proposals[index].probability, token);
      rows += lengths[index];
    }
    return tokens / cost.seconds(rows);
  };
  const std::vector<int64_t> chosen = choose_lengths(proposals, cost, {3, 3}, 0).lengths;
  double best = 0;
  for (int64_t a = 0; a <= 6; ++a) {
    for (int64_t b = 0; b <= 6; ++b) {
      for (int64_t c = 0; c <= 2; ++c) best = std::max(best, rate({a, b, c}));
    }
  }
  EXPECT_NEAR(rate(chosen), best, best * 1e-9);
  EXPECT_EQ(choose_lengths(proposals, cost, {3, 3}, 1.0).lengths, (std::vector<int64_t>{0, 0, 0})) << "where drafting takes long";
  EXPECT_EQ(choose_lengths(proposals, StepCost(), {3, 3}, 0).lengths, (std::vector<int64_t>{0, 0, 0}));
}

// The same where a wrong token has the step's own row and the right ones before it computed again: expected over all places of the first
// wrong one.
TEST(Speculation, LengthsAreShorterWhereARefusalTakesBackItsStep) {
  StepCost cost;
  for (int step = 0; step < 60; ++step) cost.add(1 + step % 8, 0.010 + 0.003 * static_cast<double>(1 + step % 8));
  const auto best_of = [&](const Proposal& proposal) {
    std::vector<double> rates;
    for (int64_t length = 0; length <= proposal.most; ++length) {
      double tokens = 1, again = 0;
      for (int64_t wrong = 1; wrong <= length; ++wrong) {
        tokens += std::pow(proposal.probability, wrong);
        const double chance = std::pow(proposal.probability, wrong - 1) * (1 - proposal.probability);
        if (proposal.taken_back > 0) again += chance * static_cast<double>(proposal.taken_back + wrong - 1);
      }
      rates.push_back(tokens / (cost.seconds(1 + length) + again * cost.row_seconds()));
    }
    return std::max_element(rates.begin(), rates.end()) - rates.begin();
  };
  int64_t shorter = 0;
  for (const double probability : {0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.97}) {
    for (const int64_t taken_back : {0, 1, 3, 8}) {
      const Proposal proposal{probability, 12, taken_back};
      const int64_t chosen = choose_lengths(std::span(&proposal, 1), cost, {1, 1}, 0).lengths[0];
      EXPECT_EQ(chosen, best_of(proposal)) << probability << " " << taken_back;
      const Proposal free{probability, 12};
      shorter += choose_lengths(std::span(&free, 1), cost, {1, 1}, 0).lengths[0] - chosen;
    }
  }
  EXPECT_GT(shorter, 10);
}

// A step ahead of the host takes 0.3 ms; one that the host waits for 0.5 ms, and 0.01 ms more for each row: it pays from 0.7 tokens more
// on.
TEST(Speculation, AStepThatTheHostWaitsForHasToYieldMoreThanOneAheadOfIt) {
  StepCost ahead, waited;
  for (int step = 0; step < 60; ++step) {
    ahead.add(1, 0.0003);
    waited.add(2 + step % 16, 0.0005 + 0.00001 * static_cast<double>(2 + step % 16));
  }
  const auto step_of = [&](double probability, int64_t most) {
    return choose_lengths(std::vector<Proposal>{{probability, most}}, waited, {1, 1}, 0);
  };
  EXPECT_TRUE(pays(step_of(0.9, 16), ahead, 1));
  EXPECT_GT(step_of(0.9, 16).lengths[0], 8) << "rows cost little";
  EXPECT_FALSE(pays(step_of(0.3, 16), ahead, 1)) << "0.4 tokens more";
  EXPECT_FALSE(pays(step_of(0.6, 1), ahead, 1));
  EXPECT_FALSE(pays(step_of(0.9, 0), ahead, 1)) << "nothing is proposed";
  EXPECT_TRUE(pays(step_of(0.3, 16), StepCost(), 1)) << "no step has run ahead";
}

// A device records steps of up to 8 rows, with room for 1, 2, 4 or 8: a row of that room costs nothing, one beyond 8 rows ends the
// recording.
TEST(Speculation, ARecordedStepIsFilledAndStaysRecorded) {
  StepCost cost;
  for (int step = 0; step < 60; ++step) cost.add(1 + step % 8, 0.001 + 0.0003 * static_cast<double>(1 + step % 8));
  const auto lengths_of = [&](double probability, int64_t rows, int64_t recorded) {
    std::vector<Proposal> proposals(static_cast<size_t>(rows), {0, 0});
    proposals[0] = {probability, 16};
    return choose_lengths(proposals, cost, {rows, rows, recorded}, 0).lengths[0];
  };
  EXPECT_EQ(lengths_of(0.999, 1, 0), 16);
  EXPECT_EQ(lengths_of(0.999, 1, 8), 7) << "8 rows";
  EXPECT_EQ(lengths_of(0.999, 3, 8), 5);
  EXPECT_EQ(lengths_of(0.999, 8, 8), 0) << "no row is left";
  EXPECT_EQ(lengths_of(0.999, 9, 8), 16) << "is not recorded anyway";
  EXPECT_EQ(lengths_of(0.6, 1, 0), 2);
  EXPECT_EQ(lengths_of(0.6, 1, 8), 3) << "the fourth row is there";
  EXPECT_EQ(lengths_of(0.05, 1, 8), 0) << "a plain step is not filled";
}

// So that a first step which had to compile its kernels does not end speculation for good.
TEST(Speculation, ACostThatIsNotMeasuredAgainIsForgotten) {
  StepCost cost;
  cost.add(4, 2.0);
  EXPECT_TRUE(cost.known());
  int steps = 0;
  for (; cost.known() && steps < 1000; ++steps) cost.fade();
  EXPECT_GT(steps, 10);
  EXPECT_LT(steps, 300);
  EXPECT_EQ(cost.seconds(1), 0);
  for (int step = 0; step < 60; ++step) cost.add(1 + step % 8, 0.001);
  EXPECT_NEAR(cost.seconds(1), 0.001, 0.0003) << "and what is old counts for little";
}

TEST(Speculation, ATextThatRepeatsItselfTakesFewSteps) {
  std::mt19937 random(4);
  const std::vector<TokenId> prompt = Sample::random_tokens(random, 30);
  std::vector<TokenId> plain;
  for (const int64_t most : {0, 16}) {
    Sample sample(512, [](const std::vector<int32_t>& tokens) { return tokens.size() < 30 ? 0 : tokens[tokens.size() - 30]; });
    Engine& engine = sample.engine({.speculation = {.most = most, .adaptive = false}});
    const Answer answer = sample.ask(Sample::request(prompt, 200));
    if (most == 0) {
      plain = answer.only();
      EXPECT_EQ(engine.metrics().steps, 200U);
    } else {
      EXPECT_EQ(answer.only(), plain);
      EXPECT_LT(engine.metrics().steps, 60U);
      EXPECT_GT(engine.metrics().accepted_draft_tokens, 140U);
      EXPECT_EQ(answer.finishes[0].usage.accepted_tokens, static_cast<int64_t>(engine.metrics().accepted_draft_tokens));
    }
  }
}

TEST(Speculation, WhereRowsCostAsMuchAsStepsNothingIsProposed) {
  StepCost cost;
  for (int step = 0; step < 60; ++step) cost.add(1 + step % 8, 0.001 * static_cast<double>(1 + step % 8));
  EXPECT_EQ(choose_lengths(std::vector<Proposal>{{0.95, 16}}, cost, {1, 1}, 0).lengths, (std::vector<int64_t>{0}));
}

// Half of the tokens are the likeliest one, the others random: much of what is proposed is wrong.
TEST(Speculation, SampledTextIsThatWithoutSpeculationTokenByToken) {
  std::vector<std::vector<TokenId>> plain;
  uint64_t wrong = 0;
  for (const int64_t most : {0, 8}) {
    Sample sample(512, [](const std::vector<int32_t>&) { return 70; });
    Engine& engine = sample.engine({.speculation = {.most = most, .adaptive = false}});
    for (uint64_t seed = 0; seed < 8; ++seed) {
      Request request = Sample::request({70, 70, 70, 70}, 100);
      request.params.ignore_eos = true;
      request.params.sampling = {.temperature = 1.6F, .top_k = 150, .top_p = 1, .min_p = 0, .seed = seed};
      const Answer answer = sample.ask(std::move(request));
      if (most == 0) {
        plain.push_back(answer.only());
      } else {
        EXPECT_EQ(answer.only(), plain[seed]) << seed;
      }
    }
    wrong = engine.metrics().draft_tokens - engine.metrics().accepted_draft_tokens;
  }
  EXPECT_GT(wrong, 0U) << "nothing was taken back";
}

// The distribution itself, by a chi-square test: the token behind a proposal that is right in about half of the cases.
TEST(Speculation, SampledTokensKeepTheirDistribution) {
  // At temperature 1.6 token 70 is e^(10 / 1.6) times as likely as each of the others. top_k lets all of them in: they are equally likely.
  const double odds = std::exp(10.0 / 1.6);
  const double likely = odds / (odds + Sample::kVocabulary - 1);
  Sample sample(512, [](const std::vector<int32_t>&) { return 70; });
  (void)sample.engine({.speculation = {.most = 4, .adaptive = false}});
  int64_t count = 0;
  int64_t total = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Request request = Sample::request(std::vector<TokenId>(20, 70), 200);
    request.params.ignore_eos = true;
    request.params.sampling = {.temperature = 1.6F, .top_k = 150, .top_p = 1, .min_p = 0, .seed = seed};
    const Answer answer = sample.ask(std::move(request));
    count += std::count(answer.only().begin(), answer.only().end(), 70);
    total += std::ssize(answer.only());
  }
  EXPECT_GT(sample.running().metrics().draft_tokens, 100U);
  const double expected = likely * static_cast<double>(total);
  const double deviation = std::sqrt(expected * (1 - likely));
  EXPECT_LT(std::abs(static_cast<double>(count) - expected), 3.5 * deviation) << count << " of " << total;
}

TEST(Speculation, ADraftModelsTokensAreThoseOfTheModel) {
  Sample sample;
  // Right three times out of four.
  FakeLanguageModel draft(Sample::kVocabulary, 512,
                          [](const std::vector<int32_t>& tokens) { return tokens.size() % 4 == 0 ? 1 : Sample::rule(tokens); });
  Engine engine(sample.model, sample.tokenizer, {.sequences = 2, .speculation = {.ngram = false, .most = 6, .adaptive = false}}, &draft);
  std::vector<Stream> streams;
  for (const TokenId first : {1, 2, 3}) streams.push_back(engine.submit(Sample::request({first, 5, 9}, 80)));
  while (engine.step()) {}
  for (const TokenId first : {1, 2, 3}) {
    Answer answer;
    EXPECT_TRUE(answer.take(streams[static_cast<size_t>(first - 1)]));
    EXPECT_EQ(answer.only(), Sample::continued({first, 5, 9}, 80));
    EXPECT_GT(answer.finishes[0].usage.accepted_tokens, 20);
  }
  EXPECT_LT(engine.metrics().steps, 120U);
}

TEST(Speculation, ADraftModelMayBePaddedToAnotherSizeAndItsCacheMayBeFull) {
  // The cache of the draft has room for 4,096 positions, and four texts have 6,000.
  constexpr int64_t kContext = 4096;
  Sample sample(kContext);
  FakeLanguageModel draft(Sample::kVocabulary + 8, kContext, Sample::rule);
  Engine engine(sample.model, sample.tokenizer,
                {.context = kContext, .sequences = 4, .kv_bytes = 1 << 20, .speculation = {.ngram = false, .most = 6, .adaptive = false}},
                &draft);
  std::mt19937 random(9);
  std::vector<std::vector<TokenId>> prompts;
  std::vector<Stream> streams;
  for (int index = 0; index < 4; ++index) {
    prompts.push_back(Sample::random_tokens(random, 1500));
    streams.push_back(engine.submit(Sample::request(prompts.back(), 40)));
  }
  while (engine.step()) {}
  for (size_t index = 0; index < streams.size(); ++index) {
    Answer answer;
    EXPECT_TRUE(answer.take(streams[index]));
    EXPECT_EQ(answer.only(), Sample::continued(prompts[index], 40)) << index;
  }
  EXPECT_GT(engine.metrics().accepted_draft_tokens, 20U);
}

TEST(Speculation, ATextWithTokensThatTheDraftHasNotGetsNoProposals) {
  Sample sample;
  FakeLanguageModel draft(Sample::kVocabulary - 50, 512, [](const std::vector<int32_t>& tokens) { return Sample::rule(tokens); });
  Engine engine(sample.model, sample.tokenizer, {.sequences = 2, .speculation = {.ngram = false, .most = 6, .adaptive = false}}, &draft);
  Stream with = engine.submit(Sample::request({Sample::kVocabulary - 1, 5, 9}, 20));
  Stream without = engine.submit(Sample::request({4, 5, 9}, 20));
  while (engine.step()) {}
  Answer answer;
  EXPECT_TRUE(answer.take(with));
  EXPECT_EQ(answer.only(), Sample::continued({Sample::kVocabulary - 1, 5, 9}, 20));
  EXPECT_EQ(answer.finishes[0].usage.draft_tokens, 0);
  Answer other;
  EXPECT_TRUE(other.take(without));
  EXPECT_GT(other.finishes[0].usage.accepted_tokens, 10);
}

}  // namespace
}  // namespace wick
