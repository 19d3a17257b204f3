// Speculation with recurrent models, whose states cannot take back a token: the tokens are those without it, whatever is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "model/recurrent_models.h"
#include "unit/fake_language_model.h"
#include "wick/engine/engine.h"
#include "wick/model/kv/kv_pool.h"
#include "wick/text/grammar/token_constraint.h"

namespace wick {
namespace {

class RecurrentSpeculation : public RecurrentModel {
 protected:
  // A draft model that knows these texts, and is wrong at each `period`-th token.
  [[nodiscard]] std::unique_ptr<FakeLanguageModel> draft_of(std::vector<std::vector<TokenId>> texts, size_t period = 4) const {
    return std::make_unique<FakeLanguageModel>(
        kVocabulary, kPositions, [texts = std::move(texts), period](const std::vector<int32_t>& tokens) {
          for (const std::vector<TokenId>& text : texts) {
            const bool begins = text.size() > tokens.size() && std::equal(tokens.begin(), tokens.end(), text.begin());
            if (begins) return tokens.size() % period == 0 ? (text[tokens.size()] + 1) % 500 : text[tokens.size()];
          }
          return 7;
        });
  }
  [[nodiscard]] static std::vector<TokenId> joined(std::vector<TokenId> text, const std::vector<TokenId>& more) {
    text.insert(text.end(), more.begin(), more.end());
    return text;
  }
  [[nodiscard]] static EngineOptions options(int64_t sequences, int64_t most = 5) {
    return {.context = kPositions, .sequences = sequences, .speculation = {.ngram = false, .most = most, .adaptive = false}};
  }
  static void expect_rollbacks(const Engine& engine) {
    const EngineMetrics metrics = engine.metrics();
    EXPECT_GT(metrics.accepted_draft_tokens, 0U);
    EXPECT_GT(metrics.draft_tokens, metrics.accepted_draft_tokens);
    EXPECT_GT(metrics.recomputed_tokens, 0U) << "no state was rolled back";
    EXPECT_EQ(metrics.kv_blocks_used, 0);
  }
};

TEST_P(RecurrentSpeculation, ATextIsThatWithoutSpeculationAndTakesFewerSteps) {
  const std::vector<TokenId> prompt = text_of(41, 1), want = alone(prompt, 60, kPositions);
  for (const size_t period : {1000, 4, 2, 1}) {
    const auto draft = draft_of({joined(prompt, want)}, period);
    Engine engine(*model_, tokenizer_, options(1), draft.get());
    const Answer answer = finish(engine, engine.submit(request(prompt, 60)));
    EXPECT_EQ(answer.only(), want) << period;
    const EngineMetrics metrics = engine.metrics();
    if (period == 1000) {
      // The prompt's first block and the rest of it, then 6 tokens at once but for the ends of two blocks.
      EXPECT_LE(metrics.steps, 16U);
      EXPECT_EQ(metrics.recomputed_tokens, 0U);
    } else {
      EXPECT_GT(metrics.recomputed_tokens, 0U);
    }
    EXPECT_EQ(metrics.accepted_draft_tokens > 0, period > 1);
    // Where all are wrong each other step has none.
    EXPECT_LE(metrics.recomputed_tokens, 60U * 6U);
  }
}

TEST_P(RecurrentSpeculation, RowsThatAreComputedInChunksGiveTheSameText) {
  model_ = load_language_model(Checkpoint::open(folder_.path() / "model"), Device::cpu(), {.precise = true});
  const std::vector<TokenId> prompt = text_of(41, 1), want = alone(prompt, 60, kPositions);
  const auto draft = draft_of({joined(prompt, want)});
  Engine engine(*model_, tokenizer_, options(1), draft.get());
  EXPECT_EQ(finish(engine, engine.submit(request(prompt, 60))).only(), want);
  expect_rollbacks(engine);
}

TEST_P(RecurrentSpeculation, ManyRequestsAtOnceGiveTheTokensOfEach) {
  std::vector<std::vector<TokenId>> prompts, texts;
  for (uint32_t index = 0; index < 8; ++index) {
    prompts.push_back(joined(text_of(32, index % 2), text_of(3 + 7 * (index / 2), 9 + index / 2)));
    texts.push_back(joined(prompts.back(), alone(prompts.back(), 24, kPositions)));
  }
  const auto draft = draft_of(texts);
  for (const bool keeps : {true, false}) {
    EngineOptions of = options(3);
    of.prefix_cache = keeps;
    of.kv_bytes = KvPool::bytes_for(model_->cache_layout(), {.context = kPositions, .step = 512, .sequences = 3, .snapshots = 3}, 1);
    Engine engine(*model_, tokenizer_, of, draft.get());
    std::vector<Stream> streams;
    for (size_t index = 0; index < prompts.size(); ++index) {
      Request made = request(prompts[index], 24);
      made.priority = static_cast<int>(index % 3);  // the higher ones preempt
      streams.push_back(engine.submit(std::move(made)));
      for (int steps = 0; steps < 4; ++steps) (void)engine.step();
    }
    for (int steps = 0; engine.step() && steps < 10000; ++steps) continue;
    for (size_t index = 0; index < streams.size(); ++index) {
      Answer answer;
      ASSERT_TRUE(answer.take(streams[index]));
      ASSERT_FALSE(answer.error) << answer.error->message;
      EXPECT_EQ(joined(prompts[index], answer.only()), texts[index]) << index;
    }
    EXPECT_GT(engine.metrics().preemptions, 0U);
    expect_rollbacks(engine);
  }
}

TEST_P(RecurrentSpeculation, ChoicesAreThoseWithoutSpeculation) {
  const std::vector<TokenId> prompt = text_of(37, 3);
  std::vector<std::vector<TokenId>> want;
  for (const bool speculates : {false, true}) {
    std::vector<std::vector<TokenId>> texts;
    for (const std::vector<TokenId>& tokens : want) texts.push_back(joined(prompt, tokens));
    const auto draft = draft_of(texts);
    Engine engine(*model_, tokenizer_, options(4), speculates ? draft.get() : nullptr);
    Request made = request(prompt, 30);
    made.n = 3;
    made.params.sampling = {.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0, .seed = 5};
    const Answer answer = finish(engine, engine.submit(std::move(made)));
    if (!speculates) {
      want = answer.tokens;
      continue;
    }
    EXPECT_EQ(answer.tokens, want);
    expect_rollbacks(engine);
  }
}

TEST_P(RecurrentSpeculation, WhatIsKeptOfATextIsWhatIsKeptWithoutSpeculation) {
  const std::vector<TokenId> prompt = text_of(45, 1), want = alone(prompt, 60, kPositions);
  const std::vector<TokenId> next = joined(joined(prompt, want), text_of(20, 2)), after = alone(next, 10, kPositions);
  const auto draft = draft_of({joined(prompt, want), joined(next, after)});
  for (const bool speculates : {false, true}) {
    Engine engine(*model_, tokenizer_, options(1), speculates ? draft.get() : nullptr);
    EXPECT_EQ(finish(engine, engine.submit(request(prompt, 60))).only(), want);
    const std::filesystem::path path = folder_.path() / "session";
    EXPECT_EQ(engine.save_session(joined(prompt, want), path), 96) << speculates;
    const Answer answer = finish(engine, engine.submit(request(next, 10)));
    EXPECT_EQ(answer.finishes[0].usage.cached_tokens, 96) << "the last end of a block in the answer";
    EXPECT_EQ(answer.only(), after);
    if (!speculates) continue;
    expect_rollbacks(engine);
    Engine restored(*model_, tokenizer_, options(1), draft.get());
    EXPECT_EQ(restored.restore_session(path), 96);
    const Answer again = finish(restored, restored.submit(request(next, 10)));
    EXPECT_EQ(again.finishes[0].usage.cached_tokens, 96);
    EXPECT_EQ(again.only(), after);
    // A step that ends a text is taken back to where it was right, for host memory as for the pool.
    EngineOptions with_ram = options(1);
    with_ram.cache_ram_bytes = 1 << 20;
    Engine keeping(*model_, tokenizer_, with_ram, draft.get());
    Request stopped = request(prompt, 60);
    stopped.params.stop_tokens = {want[40]};
    (void)finish(keeping, keeping.submit(std::move(stopped)));
    EXPECT_EQ(finish(keeping, keeping.submit(request(next, 10))).only(), after);
  }
}

TEST_P(RecurrentSpeculation, AConstrainedTextIsThatWithoutSpeculation) {
  const auto constraint = [&] {
    return ConstraintCompiler(tokenizer_).compile({.kind = OutputFormat::Kind::regex, .text = "([a-d][e-h]{1,3},){12}"});
  };
  const std::vector<TokenId> prompt = text_of(37, 4);
  std::optional<std::vector<TokenId>> want;
  for (const bool speculates : {false, true}) {
    const auto draft = draft_of({joined(prompt, want.value_or(std::vector<TokenId>{}))}, 3);
    Engine engine(*model_, tokenizer_, options(1), speculates ? draft.get() : nullptr);
    Request made = EngineSample::request(prompt, 60);
    made.params.constraint = constraint();
    const Answer answer = finish(engine, engine.submit(std::move(made)));
    if (speculates) {
      EXPECT_EQ(answer.only(), *want);
      expect_rollbacks(engine);
    } else {
      want = answer.only();
    }
  }
}

// A text that repeats itself is looked up in itself, and as much is proposed as pays.
TEST_P(RecurrentSpeculation, ARepeatedTextIsProposedByItself) {
  // Of three tokens alone, so that each three of them come often.
  Request made = request({70, 71, 72, 70, 70, 71, 71, 72}, 100);
  for (const TokenId token : {70, 71, 72}) made.params.sampling.logit_bias.push_back({token, 100});
  std::optional<std::vector<TokenId>> want;
  for (const SpeculationOptions& speculation :
       {SpeculationOptions{.most = 0}, SpeculationOptions{.most = 8, .adaptive = false}, SpeculationOptions{.most = 8}}) {
    EngineOptions of = options(2);
    of.speculation = speculation;
    Engine engine(*model_, tokenizer_, of);
    const Answer answer = finish(engine, engine.submit(Request(made)));
    if (!want) want = answer.only();
    EXPECT_EQ(answer.only(), *want);
    if (!speculation.adaptive) {
      EXPECT_GT(engine.metrics().accepted_draft_tokens, 0U);
    }
  }
}

// Which may be the model itself: then all that it proposes is right, in whatever state it was left by wrong proposals of others.
TEST_P(RecurrentSpeculation, ARecurrentModelMayBeTheDraft) {
  std::vector<std::vector<TokenId>> prompts, texts;
  for (uint32_t index = 0; index < 3; ++index) {
    prompts.push_back(text_of(20 + 7 * index, index));
    texts.push_back(alone(prompts.back(), 30, kPositions));
  }
  Engine engine(*model_, tokenizer_, options(3), model_.get());
  std::vector<Stream> streams;
  for (const std::vector<TokenId>& prompt : prompts) {
    Request made = request(prompt, 30);
    made.n = 1;
    streams.push_back(engine.submit(std::move(made)));
  }
  // One whose tokens are drawn, so that the likeliest ones, which the draft proposes, are often wrong.
  Request drawn = request(prompts[0], 40);
  drawn.params.sampling = {.temperature = 1, .top_k = 3, .top_p = 1, .min_p = 0, .seed = 3};
  streams.push_back(engine.submit(Request(drawn)));
  while (engine.step()) {}
  for (size_t index = 0; index < prompts.size(); ++index) {
    Answer answer;
    ASSERT_TRUE(answer.take(streams[index]));
    EXPECT_EQ(answer.only(), texts[index]) << index;
    EXPECT_EQ(answer.finishes[0].usage.draft_tokens, answer.finishes[0].usage.accepted_tokens) << index;
    EXPECT_GT(answer.finishes[0].usage.accepted_tokens, 15) << index;
  }
  Answer answer;
  ASSERT_TRUE(answer.take(streams.back()));
  Engine plain(*model_, tokenizer_, options(1, 0));
  EXPECT_EQ(answer.only(), finish(plain, plain.submit(std::move(drawn))).only());
  expect_rollbacks(engine);
}

INSTANTIATE_TEST_SUITE_P(All, RecurrentSpeculation, ::testing::ValuesIn(kRecurrentModels), recurrent_name);

}  // namespace
}  // namespace wick
