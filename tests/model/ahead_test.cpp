// One step ahead: an engine that queues the next step before the host has read the tokens of the last gives the tokens of one that does
// not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "model/recurrent_models.h"
#include "model/tiny_model.h"
#include "unit/engine_samples.h"
#include "unit/found_devices.h"
#include "unit/temporary_folder.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/language_model.h"

namespace wick {
namespace {

using testing::HasSubstr;

// A model that fails at one of its steps.
class FailingModel final : public LanguageModel {
 public:
  FailingModel(const LanguageModel& model, int steps) : model_(model), steps_(steps) {}
  [[nodiscard]] const ModelInfo& info() const noexcept override { return model_.info(); }
  [[nodiscard]] const Device& device() const noexcept override { return model_.device(); }
  [[nodiscard]] const KvLayout& cache_layout() const noexcept override { return model_.cache_layout(); }
  [[nodiscard]] Tensor forward(const Batch& batch, KvPool& pool, const ForwardOptions& options) const override {
    if (steps_-- == 0) throw Error(code_, "on purpose");
    return model_.forward(batch, pool, options);
  }
  ErrorCode code_ = ErrorCode::device_lost;

 private:
  const LanguageModel& model_;
  mutable int steps_;
};

class AheadTest : public testing::TestWithParam<DeviceLocation> {
 protected:
  void SetUp() override {
    interpreted_ = GetParam().kind == DeviceKind::reference;
    tiny_.layers = 1;
    tiny_.vocab = 600;
    tiny_.feed_forward = 64;
    tiny_.heads = 2;
    tiny_.kv_heads = 1;
    tiny_.head_dim = 32;
    write_tiny_model(tiny_, folder_.path() / "tiny.gguf");
    file_ = GgufFile::open(folder_.path() / "tiny.gguf");
    model_ = load_language_model(*file_, Device::open(GetParam()), {.deterministic = true});
  }

  [[nodiscard]] EngineOptions options(bool ahead) const {
    EngineOptions options{.context = 128, .sequences = 4};
    options.ahead = ahead;
    options.speculation.most = 0;
    return options;
  }
  [[nodiscard]] Request request(uint32_t seed) const {
    std::mt19937 random(seed);
    Request request = EngineSample::request(EngineSample::random_tokens(random, 3 + seed * 13 % 45), interpreted_ ? 4 : 6 + seed * 17 % 40);
    request.params.ignore_eos = true;
    if (seed % 2 == 1) request.params.sampling = {.temperature = 1, .top_k = 0, .top_p = 1, .seed = seed};
    return request;
  }
  // Of which four at once are drawn by the device.
  [[nodiscard]] Request filtered(uint32_t seed) const {
    Request one = request(seed);
    one.params.sampling = {.temperature = 1, .top_k = seed % 4 == 1 ? 40 : 0, .seed = seed};
    return one;
  }
  // Some of other kinds, which the host draws.
  [[nodiscard]] Request mixed(uint32_t seed) const {
    Request one = request(seed);
    if (seed % 6 == 3) one.params.sampling.typical_p = 0.7F;
    if (seed % 7 == 5) one.params.sampling.frequency_penalty = 1;
    if (seed % 7 == 6) one.params.logprobs = 2;
    if (seed % 3 == 1) one.params.stop = {"e", "a"};
    return one;
  }
  // The answers to requests of which a new one comes every few steps.
  [[nodiscard]] std::vector<Answer> answers(Engine& engine, uint32_t count, const std::function<Request(uint32_t)>& make) const {
    std::vector<Stream> streams;
    std::vector<Answer> answers(count);
    uint32_t next = 0;
    for (int step = 0; engine.step() || next < count; ++step) {
      if (next == count || step % 3 != 0) continue;
      streams.push_back(engine.submit(make(next)));
      ++next;
    }
    for (size_t index = 0; index < streams.size(); ++index) EXPECT_TRUE(answers[index].take(streams[index])) << index;
    return answers;
  }

  TemporaryFolder folder_;
  TinyModel tiny_;
  std::optional<GgufFile> file_;
  std::unique_ptr<LanguageModel> model_;
  std::shared_ptr<const Tokenizer> tokenizer_ = fake_tokenizer(600);
  bool interpreted_ = false;
};

TEST_P(AheadTest, TheTokensAreThoseOfStepsOneByOne) {
  const uint32_t count = interpreted_ ? 3 : 12;
  const std::vector<std::function<Request(uint32_t)>> kinds = {[&](uint32_t seed) { return request(seed); },
                                                               [&](uint32_t seed) { return filtered(seed); },
                                                               [&](uint32_t seed) { return mixed(seed); }};
  for (size_t kind = 0; kind < (interpreted_ ? 1 : kinds.size()); ++kind) {
    const auto& make = kinds[kind];
    Engine plain(*model_, tokenizer_, options(false)), ahead(*model_, tokenizer_, options(true));
    const std::vector<Answer> want = answers(plain, count, make), got = answers(ahead, count, make);
    for (size_t index = 0; index < count; ++index) {
      ASSERT_FALSE(got[index].error) << got[index].error->message;
      EXPECT_EQ(got[index].tokens, want[index].tokens) << index;
      EXPECT_EQ(got[index].texts, want[index].texts) << index;
      EXPECT_EQ(got[index].reason(), want[index].reason()) << index;
    }
    EXPECT_EQ(plain.metrics().ahead_steps, 0U);
    EXPECT_GT(ahead.metrics().ahead_steps, interpreted_ ? 0U : 5U);
    EXPECT_EQ(ahead.metrics().generated_tokens, plain.metrics().generated_tokens);
    EXPECT_EQ(ahead.metrics().kv_blocks_used, 0);
  }
}

// A stop in the middle ends a text behind which a token was computed already; the prefix cache must not take it for a part of the text.
TEST_P(AheadTest, WhatFollowsATextThatWasStoppedIsTheSame) {
  std::vector<std::vector<TokenId>> told;
  for (const bool goes_ahead : {false, true}) {
    Engine engine(*model_, tokenizer_, options(goes_ahead));
    Request first = request(4);
    first.params.max_tokens = interpreted_ ? 6 : 60;
    Stream stream = engine.submit(first);
    while (engine.step()) {}
    Answer answer;
    ASSERT_TRUE(answer.take(stream));
    const std::vector<TokenId> text = answer.only();
    ASSERT_GT(text.size(), 4U);
    // Again, up to its middle, and on from there.
    first.params.stop_tokens = {text[text.size() / 2]};
    Stream again = engine.submit(first);
    while (engine.step()) {}
    Answer stopped;
    ASSERT_TRUE(stopped.take(again));
    EXPECT_EQ(stopped.reason(), StopReason::stop_sequence);
    Request more = first;
    more.params.stop_tokens.clear();
    more.params.max_tokens = 3;
    more.tokens.insert(more.tokens.end(), stopped.only().begin(), stopped.only().end());
    Stream rest = engine.submit(more);
    while (engine.step()) {}
    Answer continued;
    ASSERT_TRUE(continued.take(rest));
    told.push_back(text);
    told.push_back(stopped.only());
    told.push_back(continued.only());
  }
  EXPECT_EQ(told[0], told[3]);
  EXPECT_EQ(told[1], told[4]);
  EXPECT_EQ(told[2], told[5]);
}

TEST_P(AheadTest, ACancelledRequestEndsWithTheNextStep) {
  Engine engine(*model_, tokenizer_, options(true)), alone(*model_, tokenizer_, options(false));
  Request first = request(1), second = request(2);
  first.params.max_tokens = second.params.max_tokens = interpreted_ ? 8 : 60;
  Stream kept = engine.submit(first), cancelled = engine.submit(second), other = alone.submit(first);
  Answer answer, want, part;
  for (int step = 0; step < (interpreted_ ? 4 : 12); ++step) (void)engine.step();
  EXPECT_GT(engine.metrics().ahead_steps, 0U);
  EXPECT_FALSE(part.take(cancelled));
  cancelled.cancel();
  (void)engine.step();
  EXPECT_TRUE(part.take(cancelled));
  EXPECT_EQ(part.reason(), StopReason::cancelled);
  while (engine.step()) {}
  while (alone.step()) {}
  ASSERT_TRUE(answer.take(kept));
  ASSERT_TRUE(want.take(other));
  EXPECT_EQ(answer.tokens, want.tokens);
}

TEST_P(AheadTest, ADeviceLostInTheMiddleIsToldToAll) {
  for (const ErrorCode code : {ErrorCode::device_lost, ErrorCode::out_of_memory}) {
    FailingModel model(*model_, interpreted_ ? 3 : 7);
    model.code_ = code;
    Engine engine(model, tokenizer_, options(true));
    std::vector<Stream> streams;
    for (const uint32_t seed : {1U, 2U}) {
      Request one = request(seed);
      one.params.max_tokens = interpreted_ ? 6 : 30;
      streams.push_back(engine.submit(one));
    }
    while (engine.step()) {}
    EXPECT_GT(engine.metrics().ahead_steps, 0U);
    for (Stream& stream : streams) {
      Answer answer;
      ASSERT_TRUE(answer.take(stream));
      // Memory may be there when the step is tried again.
      EXPECT_EQ(answer.error.has_value(), code == ErrorCode::device_lost);
      if (answer.error) {
        EXPECT_EQ(answer.error->code, code);
      }
    }
    EXPECT_EQ(engine.accepts(), code != ErrorCode::device_lost);
  }
}

// Recurrent models: a state is taken back with the token of a text that has ended, and what is kept is what would be kept without.
class AheadWithStates : public testing::TestWithParam<DeviceLocation> {};

TEST_P(AheadWithStates, TheTokensAndWhatIsKeptAreThoseOfStepsOneByOne) {
  const bool interpreted = GetParam().kind == DeviceKind::reference;
  const std::vector<const char*> names = interpreted ? std::vector{"lfm2"} : std::vector{"lfm2", "mamba2", "qwen3next"};
  for (const char* name : names) {
    const TemporaryFolder folder;
    wide_recurrent_model(name).write(folder.path() / "model");
    const auto model = load_language_model(Checkpoint::open(folder.path() / "model"), Device::open(GetParam()), {.precise = true});
    const std::shared_ptr<const Tokenizer> tokenizer = fake_tokenizer(600);
    std::vector<std::vector<TokenId>> plain;
    std::vector<int64_t> plain_cached;
    for (const bool goes_ahead : {false, true}) {
      EngineOptions options{.context = 128, .sequences = 3, .speculation = {.most = 0}};
      options.ahead = goes_ahead;
      Engine engine(*model, tokenizer, options);
      std::vector<std::vector<TokenId>> texts;
      std::vector<int64_t> cached;
      // Two at once; then on from each, and from the middle of the first, which a stop token ended.
      const auto run = [&](std::vector<Request> requests) {
        std::vector<Stream> streams;
        for (const Request& one : requests) streams.push_back(engine.submit(one));
        while (engine.step()) {}
        for (size_t index = 0; index < streams.size(); ++index) {
          Answer answer;
          ASSERT_TRUE(answer.take(streams[index]));
          ASSERT_FALSE(answer.error) << answer.error->message;
          cached.push_back(answer.finishes[0].usage.cached_tokens);
          texts.push_back(requests[index].tokens);
          texts.back().insert(texts.back().end(), answer.only().begin(), answer.only().end());
        }
      };
      const auto request = [&](const std::vector<TokenId>& tokens, int64_t count) {
        Request made = EngineSample::request(tokens, count);
        made.params.ignore_eos = true;
        return made;
      };
      std::mt19937 random(3);
      const std::vector<TokenId> first = EngineSample::random_tokens(random, 22), second = EngineSample::random_tokens(random, 30);
      run({request(first, interpreted ? 12 : 50), request(second, interpreted ? 5 : 40)});
      ASSERT_EQ(texts.size(), 2U);
      Request stopped = request(second, 60);
      stopped.params.stop_tokens = {texts[1][33]};
      run({stopped, request(texts[0], 4)});
      ASSERT_EQ(texts.size(), 4U);
      run({request(texts[2], 5), request(texts[3], 5)});
      EXPECT_EQ(engine.metrics().kv_blocks_used, 0);
      EXPECT_EQ(engine.metrics().ahead_steps > 0, goes_ahead);
      if (!goes_ahead) {
        plain = texts;
        plain_cached = cached;
        continue;
      }
      EXPECT_EQ(texts, plain) << name;
      EXPECT_EQ(cached, plain_cached) << name;
      EXPECT_GT(*std::max_element(cached.begin(), cached.end()), 0) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, AheadWithStates, testing::ValuesIn(found_kernel_devices()), device_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AheadWithStates);

INSTANTIATE_TEST_SUITE_P(Devices, AheadTest, testing::ValuesIn(found_kernel_devices()), device_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AheadTest);

}  // namespace
}  // namespace wick
