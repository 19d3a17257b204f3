// An engine whose model is swapped, let go of while nothing runs, and loaded again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "unit/engine_samples.h"
#include "unit/message_of.h"

namespace wick {
namespace {

using testing::HasSubstr;
using Sample = EngineSample;

// The token behind a text by another rule than EngineSample's.
int32_t other_rule(const std::vector<int32_t>& tokens) { return (Sample::rule(tokens) + 1) % 500; }

std::vector<TokenId> continued_otherwise(std::vector<TokenId> text, int64_t count) {
  std::vector<TokenId> more;
  for (int64_t index = 0; index < count; ++index) {
    more.push_back(other_rule(text));
    text.push_back(more.back());
  }
  return more;
}

class EngineModels : public testing::Test {
 protected:
  [[nodiscard]] std::shared_ptr<FakeLanguageModel> make(FakeLanguageModel::Next next = Sample::rule) const {
    return std::make_shared<FakeLanguageModel>(tokenizer_->vocab_size(), 512, std::move(next));
  }
  // Of an engine with a thread.
  static Answer ask(Engine& engine, Request request) {
    Stream stream = engine.submit(std::move(request));
    Answer answer;
    while (std::optional<StreamEvent> event = stream.next()) answer.add(std::move(*event));
    return answer;
  }
  static void wait_until(const std::function<bool()>& is_so) {
    for (int tries = 0; tries < 2000 && !is_so(); ++tries) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(is_so());
  }

  std::shared_ptr<const Tokenizer> tokenizer_ = fake_tokenizer(Sample::kVocabulary);
};

TEST_F(EngineModels, WhatHasBegunEndsWithTheOldModelAndTheRestGoesOnWithTheNew) {
  std::shared_ptr<FakeLanguageModel> old = make();
  const std::weak_ptr<FakeLanguageModel> watched = old;
  Engine engine(std::move(old), tokenizer_, {.sequences = 1});
  Stream first = engine.submit(Sample::request({1, 2, 3}, 20));
  Stream second = engine.submit(Sample::request({4, 5}, 20));
  for (int steps = 0; steps < 4; ++steps) (void)engine.step();
  std::future<void> swapped = engine.swap_model(make(other_rule));
  while (engine.step()) {}
  swapped.get();
  EXPECT_TRUE(watched.expired());
  Answer answer, other;
  EXPECT_TRUE(answer.take(first));
  EXPECT_EQ(answer.only(), Sample::continued({1, 2, 3}, 20));
  EXPECT_TRUE(other.take(second));
  EXPECT_EQ(other.only(), continued_otherwise({4, 5}, 20));
}

TEST_F(EngineModels, AnIdleEngineSwapsAtOnceAndForgetsTheOldOnesPrefixes) {
  Engine engine(make(), tokenizer_, {.cache_ram_bytes = 1 << 20});
  engine.start();
  std::mt19937 random(4);
  const std::vector<TokenId> prompt = Sample::random_tokens(random, 100);
  EXPECT_EQ(ask(engine, Sample::request(prompt, 5)).only(), Sample::continued(prompt, 5));
  engine.swap_model(make(other_rule)).get();
  const Answer answer = ask(engine, Sample::request(prompt, 5));
  EXPECT_EQ(answer.only(), continued_otherwise(prompt, 5));
  EXPECT_EQ(answer.prompt->usage.cached_tokens, 0);
}

TEST_F(EngineModels, AModelThatCannotTakeOverIsRefusedByName) {
  Engine engine(make(), tokenizer_, {.context = 512});
  EXPECT_THAT(message_of([&] { (void)engine.swap_model(std::make_shared<FakeLanguageModel>(77, 512, Sample::rule)); }),
              HasSubstr("Fake has 77 tokens"));
  EXPECT_THAT(
      message_of([&] { (void)engine.swap_model(std::make_shared<FakeLanguageModel>(tokenizer_->vocab_size(), 100, Sample::rule)); }),
      HasSubstr("was made for 100 positions"));
  EXPECT_THAT(message_of([&] { (void)engine.unload(); }), HasSubstr("EngineOptions::reload"));
  EXPECT_THAT(message_of([&] { Engine(make(), tokenizer_, {.unload_after = std::chrono::seconds(1)}); }), HasSubstr("without reload"));
}

TEST_F(EngineModels, AnIdleModelIsLetGoOfAndItsPrefixesAreFoundWhenItIsLoadedAgain) {
  std::weak_ptr<FakeLanguageModel> watched;
  const auto load = [&] {
    auto model = make();
    watched = model;
    return model;
  };
  EngineOptions options{.cache_ram_bytes = 1 << 20, .unload_after = std::chrono::milliseconds(30), .reload = load};
  Engine engine(load(), tokenizer_, options);
  engine.start();
  std::mt19937 random(4);
  const std::vector<TokenId> prompt = Sample::random_tokens(random, 100);
  for (uint64_t round = 0; round < 3; ++round) {
    const Answer answer = ask(engine, Sample::request(prompt, 5));
    EXPECT_EQ(answer.only(), Sample::continued(prompt, 5));
    EXPECT_EQ(answer.prompt->usage.cached_tokens, round == 0 ? 0 : 99);
    EXPECT_EQ(engine.metrics().reloads, round);
    wait_until([&] { return watched.expired() && !engine.metrics().loaded; });
  }
}

TEST_F(EngineModels, AModelThatCannotBeLoadedFailsThatRequestAndTheNextTriesAgain) {
  int calls = 0;
  const auto load = [&]() -> std::shared_ptr<LanguageModel> {
    if (++calls == 1) throw Error(ErrorCode::not_found, "model.gguf: no such file");
    return make();
  };
  Engine engine(make(), tokenizer_, {.reload = load});
  engine.start();
  EXPECT_TRUE(engine.unload());
  const Answer failed = ask(engine, Sample::request({1, 2}, 5));
  ASSERT_TRUE(failed.error);
  EXPECT_THAT(failed.error->message, HasSubstr("model.gguf: no such file"));
  EXPECT_EQ(ask(engine, Sample::request({1, 2}, 5)).only(), Sample::continued({1, 2}, 5));
  EXPECT_EQ(calls, 2);
}

TEST_F(EngineModels, OneThatRunsIsNotLetGoOf) {
  Engine engine(make(), tokenizer_, {.reload = [&] { return make(); }});
  Stream stream = engine.submit(Sample::request({1, 2}, 5));
  (void)engine.step();
  EXPECT_FALSE(engine.unload());
  while (engine.step()) {}
  EXPECT_TRUE(engine.unload());
}

}  // namespace
}  // namespace wick
