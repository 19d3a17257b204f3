#include "wick/engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "unit/engine_samples.h"
#include "unit/message_of.h"
#include "wick/base/error.h"
#include "wick/base/process.h"
#include "wick/text/grammar/token_constraint.h"

namespace wick {
namespace {

using testing::HasSubstr;
using Sample = EngineSample;

TEST(Engine, EachOfManyRequestsGetsItsOwnContinuation) {
  Sample sample;
  Engine& engine = sample.engine({.sequences = 16});
  std::mt19937 random(3);
  std::vector<std::vector<TokenId>> prompts;
  std::vector<Stream> streams;
  for (int64_t index = 0; index < 32; ++index) {
    prompts.push_back(Sample::random_tokens(random, 1 + index * 7 % 150));
    streams.push_back(engine.submit(Sample::request(prompts.back(), 1 + index % 40)));
  }
  while (engine.step()) EXPECT_LE(engine.metrics().running, 16);
  for (size_t index = 0; index < streams.size(); ++index) {
    Answer answer;
    EXPECT_TRUE(answer.take(streams[index]));
    EXPECT_EQ(answer.only(), Sample::continued(prompts[index], 1 + static_cast<int64_t>(index) % 40)) << index;
    EXPECT_EQ(answer.reason(), StopReason::max_tokens);
    EXPECT_EQ(answer.finishes[0].usage.prompt_tokens, std::ssize(prompts[index]));
  }
  const EngineMetrics metrics = engine.metrics();
  EXPECT_EQ(metrics.running + metrics.waiting + metrics.kv_blocks_used, 0);
  EXPECT_EQ(metrics.requests, 32U);
  EXPECT_EQ(metrics.finished[static_cast<size_t>(StopReason::max_tokens)], 32U);
  EXPECT_EQ(metrics.time_to_first_token.count(), 32U);
}

TEST(Engine, ALongPromptIsReadInChunksBesideOthersTokens) {
  Sample sample;
  Engine& engine = sample.engine({.step_rows = 20, .speculation = {.most = 0}});
  std::mt19937 random(5);
  Stream first = engine.submit(Sample::request(Sample::random_tokens(random, 4), 200));
  (void)engine.step();
  Answer answer;
  (void)answer.take(first);
  int64_t most = 0;
  sample.model.watch = [&](const Batch& batch) { most = std::max(most, batch.rows()); };
  Stream second = engine.submit(Sample::request(Sample::random_tokens(random, 300), 1));
  int steps = 0;
  for (Answer late; !late.take(second); ++steps) {
    const size_t before = answer.only().size();
    (void)engine.step();
    (void)answer.take(first);
    EXPECT_EQ(answer.only().size(), before + 1) << "each step brings the first one's next token";
  }
  EXPECT_EQ(most, 20);
  EXPECT_EQ(steps, (300 + 18) / 19);
}

TEST(Engine, AShortPromptOvertakesALongOneThatIsBeingRead) {
  Sample sample;
  Engine& engine = sample.engine({.step_rows = 20});
  std::mt19937 random(5);
  Stream busy = engine.submit(Sample::request(Sample::random_tokens(random, 4), 300));
  (void)engine.step();
  Stream slow = engine.submit(Sample::request(Sample::random_tokens(random, 200), 1));
  (void)engine.step();
  Stream quick = engine.submit(Sample::request(Sample::random_tokens(random, 9), 1));
  (void)engine.step();
  Answer answer;
  EXPECT_TRUE(answer.take(quick));
  EXPECT_FALSE(slow.ended());
}

TEST(Engine, ACancelledRequestEndsWithTheNextStepAndFreesItsMemory) {
  Sample sample;
  Engine& engine = sample.engine({.prefix_cache = false});
  Stream stream = engine.submit(Sample::request({1, 2, 3}, 100));
  Stream other = engine.submit(Sample::request({4, 5}, 3));
  (void)engine.step();
  stream.cancel();
  stream.cancel();
  (void)engine.step();
  Answer answer;
  EXPECT_TRUE(answer.take(stream));
  EXPECT_EQ(answer.reason(), StopReason::cancelled);
  EXPECT_EQ(answer.only(), Sample::continued({1, 2, 3}, 1));
  EXPECT_EQ(sample.finish(std::move(other)).only(), Sample::continued({4, 5}, 3));
  EXPECT_EQ(engine.metrics().kv_blocks_used, 0);
}

TEST(Engine, ACancelledRequestThatWaitsNeverRuns) {
  Sample sample;
  Engine& engine = sample.engine({.sequences = 1});
  Stream first = engine.submit(Sample::request({1}, 5));
  Stream second = engine.submit(Sample::request({2}, 5));
  (void)engine.step();
  second.cancel();
  (void)engine.step();
  Answer answer;
  EXPECT_TRUE(answer.take(second));
  EXPECT_EQ(answer.reason(), StopReason::cancelled);
  EXPECT_TRUE(answer.only().empty());
}

TEST(Engine, ADeadlineInThePastEndsARequestBeforeItCostsAnything) {
  Sample sample;
  (void)sample.engine();
  Request request = Sample::request({1, 2}, 5);
  request.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const Answer answer = sample.ask(std::move(request));
  EXPECT_EQ(answer.reason(), StopReason::deadline);
  EXPECT_TRUE(answer.only().empty());
  EXPECT_EQ(sample.running().metrics().prompt_tokens, 0U);
}

TEST(Engine, ADeadlineLeavesTheTextUpToThere) {
  Sample sample;
  (void)sample.engine();
  Request request = Sample::request({1, 2}, 400);
  request.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  sample.model.watch = [](const Batch&) { std::this_thread::sleep_for(std::chrono::milliseconds(30)); };
  const Answer answer = sample.ask(std::move(request));
  EXPECT_EQ(answer.reason(), StopReason::deadline);
  EXPECT_GE(answer.only().size(), 1U);
  EXPECT_EQ(answer.only(), Sample::continued({1, 2}, std::ssize(answer.only())));
}

TEST(Engine, AFullQueueRefusesWithATimeToComeBack) {
  Sample sample;
  Engine& engine = sample.engine({.sequences = 1, .queue = 2});
  Stream first = engine.submit(Sample::request({1}, 50));
  (void)engine.step();
  Stream second = engine.submit(Sample::request({2}, 5));
  Stream third = engine.submit(Sample::request({3}, 5));
  try {
    (void)engine.submit(Sample::request({4}, 5));
    ADD_FAILURE() << "not refused";
  } catch (const EngineBusy& busy) {
    EXPECT_EQ(busy.reason(), EngineBusy::Reason::queue_full);
    EXPECT_GE(busy.retry_after().count(), 1);
  }
  EXPECT_EQ(engine.metrics().refused, 1U);
  second.cancel();
  (void)engine.step();
  EXPECT_NO_THROW((void)engine.submit(Sample::request({4}, 5)));
}

TEST(Engine, WhatAStepComputesDoesNotWait) {
  Sample sample;
  Engine& engine = sample.engine({.sequences = 2, .queue = 1});
  std::vector<Stream> others;
  sample.model.watch = [&](const Batch&) {
    EXPECT_EQ(engine.metrics().running, 1);
    EXPECT_EQ(engine.metrics().waiting, 0);
    others.push_back(engine.submit(Sample::request({2}, 1)));
    EXPECT_EQ(engine.metrics().waiting, 1);
    sample.model.watch = {};
  };
  (void)sample.ask(Sample::request({1}, 3));
  ASSERT_EQ(others.size(), 1U);
  EXPECT_EQ(sample.finish(std::move(others[0])).only(), Sample::continued({2}, 1));
}

TEST(Engine, TokensInFlightAreThoseOfPromptsAndAnswers) {
  Sample sample;
  Engine& engine = sample.engine({.sequences = 1, .queue = 4});
  Stream first = engine.submit(Sample::request({1, 2, 3}, 8));
  Stream second = engine.submit(Sample::request({4, 5}, 8));
  (void)engine.step();
  const int64_t begun = engine.metrics().tokens_in_flight;
  EXPECT_GE(begun, 3 + 2);
  (void)engine.step();
  (void)engine.step();
  EXPECT_GT(engine.metrics().tokens_in_flight, begun);
  EXPECT_LE(engine.metrics().tokens_in_flight, 3 + 2 + 8 + 8);
  (void)sample.finish(std::move(first));
  (void)sample.finish(std::move(second));
  while (engine.step()) {}
  EXPECT_EQ(engine.metrics().tokens_in_flight, 0);
}

// A client that has read the end of its request may submit the next at once.
TEST(Engine, AnEndLeavesAPlaceInTheQueue) {
  for (const auto task : {Request::Task::generate, Request::Task::embed}) {
    Sample sample;
    Engine& engine = sample.engine({.sequences = 1, .queue = 1});
    Request request = Sample::request({1}, 1);
    request.task = task;
    std::optional<Stream> next;
    Stream first = engine.submit(request);
    first.on_ready([&] {
      while (first.poll()) continue;
      if (first.ended() && !next) next = engine.submit(request);
    });
    for (int steps = 0; !first.ended() && steps < 100; ++steps) (void)engine.step();
    ASSERT_TRUE(next);
    EXPECT_EQ(sample.finish(std::move(*next)).finishes.size(), 1U);
  }
}

TEST(Engine, WhatCanNeverFitIsRefusedAtOnce) {
  Sample sample(64);
  Engine& engine = sample.engine({.context = 32});
  EXPECT_THAT(message_of([&] { (void)engine.submit(Sample::request(std::vector<TokenId>(33, 1), 5)); }), HasSubstr("33 tokens"));
  EXPECT_THAT(message_of([&] { (void)engine.submit(Sample::request({600}, 5)); }), HasSubstr("outside the vocabulary"));
  EXPECT_THAT(message_of([&] { (void)engine.submit(Request{.prompt = "\xff"}); }), HasSubstr("UTF-8"));
  Request bad = Sample::request({1}, -1);
  bad.n = 0;
  const std::string message = message_of([&] { (void)engine.submit(bad); });
  EXPECT_THAT(message, HasSubstr("max_tokens -1"));
  EXPECT_THAT(message, HasSubstr("n 0"));
  // A budget smaller than a context: the context shrinks to it.
  Engine& small = sample.engine({.context = 64, .kv_bytes = 16 * 32});
  EXPECT_EQ(small.info().context, 32);
  EXPECT_EQ(sample.ask(Sample::request(std::vector<TokenId>(30, 1), 10)).reason(), StopReason::context_full);
}

TEST(Engine, NoTokensToGenerateReadsThePromptAlone) {
  Sample sample;
  (void)sample.engine();
  Request request = Sample::request({1, 2, 3}, 0);
  request.n = 2;
  const Answer answer = sample.ask(std::move(request));
  EXPECT_EQ(answer.finishes.size(), 2U);
  EXPECT_EQ(answer.finishes[1].reason, StopReason::max_tokens);
  EXPECT_EQ(answer.prompt->usage.prompt_tokens, 3);
  EXPECT_TRUE(answer.only().empty());
}

TEST(Engine, WhereBlocksRunOutTheLastRequestWaitsAndGoesOnWhereItWas) {
  Sample sample;
  // 12 blocks of 32 positions for four texts that grow to 6 blocks each.
  Engine& engine = sample.engine({.context = 256, .sequences = 4, .kv_bytes = 12 * 32 * 16});
  std::mt19937 random(9);
  std::vector<std::vector<TokenId>> prompts;
  std::vector<Stream> streams;
  for (int index = 0; index < 4; ++index) {
    prompts.push_back(Sample::random_tokens(random, 40));
    streams.push_back(engine.submit(Sample::request(prompts.back(), 150)));
  }
  while (engine.step()) {}
  for (size_t index = 0; index < streams.size(); ++index) {
    Answer answer;
    EXPECT_TRUE(answer.take(streams[index]));
    EXPECT_EQ(answer.only(), Sample::continued(prompts[index], 150)) << index;
    if (index == 0) {
      EXPECT_EQ(answer.finishes[0].usage.preemptions, 0) << "the first came first";
    }
  }
  EXPECT_GT(engine.metrics().preemptions, 0U);
}

TEST(Engine, ChoicesShareThePromptAndSampleByTheirOwnSeeds) {
  Sample sample(512, [](const std::vector<int32_t>&) { return 70; });
  Engine& engine = sample.engine();
  std::mt19937 random(2);
  const std::vector<TokenId> prompt = Sample::random_tokens(random, 100);
  const auto request_for = [&](int64_t n, uint64_t seed) {
    Request request = Sample::request(prompt, 20);
    request.n = n;
    request.params.ignore_eos = true;
    request.params.sampling = {.temperature = 2, .top_k = 0, .top_p = 1, .min_p = 0, .seed = seed};
    return request;
  };
  int64_t rows = 0;
  sample.model.watch = [&](const Batch& batch) { rows += batch.rows(); };
  const Answer three = sample.ask(request_for(3, 11));
  EXPECT_EQ(rows, 100 + 3 * 19) << "the prompt is computed once";
  ASSERT_EQ(three.finishes.size(), 3U);
  for (uint64_t choice = 0; choice < 3; ++choice) {
    EXPECT_EQ(sample.ask(request_for(1, 11 + choice)).only(), three.tokens[choice]);
  }
  EXPECT_NE(three.tokens[0], three.tokens[1]);
  EXPECT_EQ(engine.metrics().kv_blocks_used, 0);
}

TEST(Engine, BestOfReturnsTheLikeliestFirst) {
  Sample sample(512, [](const std::vector<int32_t>&) { return 70; });
  (void)sample.engine();
  Request request = Sample::request({1, 2}, 10);
  request.n = 2;
  request.best_of = 6;
  request.params.ignore_eos = true;
  request.params.logprobs = 0;
  request.params.sampling = {.temperature = 2, .top_k = 0, .top_p = 1, .min_p = 0, .seed = 5};
  const Answer answer = sample.ask(request);
  ASSERT_EQ(answer.finishes.size(), 2U);
  EXPECT_EQ(answer.finishes[0].choice, 0);
  EXPECT_EQ(answer.finishes[1].choice, 1);
  EXPECT_GE(answer.finishes[0].mean_logprob, answer.finishes[1].mean_logprob);
  request.n = 6;
  request.best_of = 0;
  const Answer all = sample.ask(request);
  // The model likes one token and all others equally: the mean logprob orders choices by how often it stands in them.
  std::vector<int64_t> counts;
  for (const auto& tokens : all.tokens) counts.push_back(std::count(tokens.begin(), tokens.end(), 70));
  std::sort(counts.rbegin(), counts.rend());
  EXPECT_EQ(std::count(answer.tokens[0].begin(), answer.tokens[0].end(), 70), counts[0]);
  EXPECT_EQ(std::count(answer.tokens[1].begin(), answer.tokens[1].end(), 70), counts[1]);
}

TEST(Engine, ABadLogitEndsItsRequestAndNoOther) {
  Sample sample(512, [](const std::vector<int32_t>& tokens) { return tokens.front() == 13 ? -1 : Sample::rule(tokens); });
  Engine& engine = sample.engine();
  Stream bad = engine.submit(Sample::request({13, 2}, 5));
  const Answer good = sample.ask(Sample::request({1, 2}, 5));
  EXPECT_EQ(good.only(), Sample::continued({1, 2}, 5));
  const Answer answer = sample.finish(std::move(bad));
  ASSERT_TRUE(answer.error);
  EXPECT_EQ(answer.error->code, ErrorCode::corrupt_file);
  EXPECT_FALSE(answer.error->can_retry);
  EXPECT_EQ(engine.metrics().failed, 1U);
}

TEST(Engine, ALostDeviceEndsAllStreamsAndTheEngine) {
  Sample sample;
  Engine& engine = sample.engine({.sequences = 1});
  Stream running = engine.submit(Sample::request({1}, 50));
  Stream waiting = engine.submit(Sample::request({2}, 50));
  (void)engine.step();
  sample.model.watch = [](const Batch&) { throw Error(ErrorCode::device_lost, "the device is gone"); };
  EXPECT_FALSE(engine.step());
  for (Stream* stream : {&running, &waiting}) {
    Answer answer;
    EXPECT_TRUE(answer.take(*stream));
    ASSERT_TRUE(answer.error);
    EXPECT_EQ(answer.error->code, ErrorCode::device_lost);
    EXPECT_TRUE(answer.error->can_retry);
  }
  EXPECT_FALSE(engine.accepts());
  try {
    (void)engine.submit(Sample::request({1}, 1));
    ADD_FAILURE() << "not refused";
  } catch (const EngineBusy& busy) {
    EXPECT_EQ(busy.reason(), EngineBusy::Reason::failed);
  }
}

TEST(Engine, AModelThatFailsOnceFailsThoseOfThatStepAndGoesOn) {
  Sample sample;
  Engine& engine = sample.engine();
  Stream stream = engine.submit(Sample::request({1}, 50));
  sample.model.watch = [](const Batch&) { throw Error(ErrorCode::unsupported, "not today"); };
  EXPECT_FALSE(engine.step());
  Answer answer;
  EXPECT_TRUE(answer.take(stream));
  EXPECT_EQ(answer.error->message, "not today");
  sample.model.watch = nullptr;
  EXPECT_EQ(sample.ask(Sample::request({1}, 3)).only(), Sample::continued({1}, 3));
  EXPECT_EQ(engine.metrics().kv_blocks_used, 0);
}

TEST(Engine, IsCancelledThatThrowsEndsItsRequestAlone) {
  Sample sample;
  Engine& engine = sample.engine();
  Request request = Sample::request({1}, 50);
  request.params.is_cancelled = []() -> bool { throw std::runtime_error("gone"); };
  Stream bad = engine.submit(std::move(request));
  EXPECT_EQ(sample.ask(Sample::request({2}, 3)).only(), Sample::continued({2}, 3));
  EXPECT_THAT(sample.finish(std::move(bad)).error->message, HasSubstr("gone"));
}

TEST(Engine, PromptLogprobsAndEchoTellOfThePrompt) {
  Sample sample;
  (void)sample.engine();
  std::vector<TokenId> prompt = {1, 2};
  for (const TokenId token : Sample::continued(prompt, 3)) prompt.push_back(token);
  Request request = Sample::request(prompt, 1);
  request.prompt_logprobs = 1;
  request.echo = true;
  for (int time = 0; time < 2; ++time) {  // the second finds the prompt in the cache
    const Answer answer = sample.ask(request);
    EXPECT_EQ(answer.prompt->tokens, prompt);
    EXPECT_EQ(answer.prompt->text, sample.tokenizer->decode(prompt));
    const auto& logprobs = answer.prompt->logprobs;
    ASSERT_EQ(logprobs.size(), prompt.size() - 1);
    for (size_t index = 1; index < logprobs.size(); ++index) {
      EXPECT_EQ(logprobs[index].chosen.token, prompt[index + 1]);
      EXPECT_EQ(logprobs[index].top.at(0).token, prompt[index + 1]) << "the rule's own continuation is the likeliest";
    }
  }
}

TEST(Engine, ProgressOfAPromptIsToldWhenItBeginsAndAfterEachStep) {
  Sample sample;
  Engine& engine = sample.engine({.step_rows = 20, .speculation = {.most = 0}});
  std::mt19937 random(5);
  // Somebody decodes, so that a step has 19 rows for the prompt.
  Stream other = engine.submit(Sample::request(Sample::random_tokens(random, 4), 200));
  (void)engine.step();
  Request request = Sample::request(Sample::random_tokens(random, 100), 2);
  request.report_progress = true;
  const auto told = [](const Answer& answer) {
    std::vector<int64_t> computed;
    for (const ProgressEvent& event : answer.progress) {
      EXPECT_EQ(event.prompt_tokens, 100);
      EXPECT_EQ(event.cached_tokens, answer.progress.front().computed_tokens);
      computed.push_back(event.computed_tokens);
    }
    return computed;
  };
  EXPECT_EQ(told(sample.ask(request)), (std::vector<int64_t>{0, 19, 38, 57, 76, 95, 100}));
  // The second finds whole blocks of it in the cache, and begins there.
  const Answer again = sample.ask(request);
  const std::vector<int64_t> computed = told(again);
  EXPECT_GE(computed.front(), 64);
  EXPECT_EQ(computed.front(), again.prompt->usage.cached_tokens);
  EXPECT_EQ(computed.back(), 100);
  request.report_progress = false;
  EXPECT_TRUE(sample.ask(request).progress.empty());
}

TEST(Engine, LogprobsAfterSamplingAreThoseOfWhatCouldBeDrawn) {
  Sample sample;
  (void)sample.engine();
  Request request = Sample::request({1, 2}, 3);
  request.params.logprobs = 5;
  request.params.logprobs_after_sampling = true;
  Stream stream = sample.running().submit(request);
  int tokens = 0;
  while (!stream.ended()) {
    (void)sample.running().step();
    while (const std::optional<StreamEvent> event = stream.poll()) {
      const auto* token = std::get_if<TokenEvent>(&*event);
      if (token == nullptr) continue;
      ++tokens;
      ASSERT_TRUE(token->logprob.has_value());
      EXPECT_EQ(token->logprob->chosen.logprob, 0) << "greedy: the token alone";
      ASSERT_EQ(token->logprob->top.size(), 1U);
      EXPECT_EQ(token->logprob->top[0].token, token->token);
    }
  }
  EXPECT_EQ(tokens, 3);
}

TEST(Engine, StopTokensEndAChoice) {
  Sample sample;
  (void)sample.engine();
  const std::vector<TokenId> tokens = Sample::continued({1, 2}, 10);
  Request request = Sample::request({1, 2}, 10);
  request.params.stop_tokens = {tokens[4]};
  const Answer answer = sample.ask(std::move(request));
  EXPECT_EQ(answer.reason(), StopReason::stop_sequence);
  EXPECT_EQ(answer.finishes[0].stop_token, tokens[4]);
  EXPECT_LE(answer.only().size(), 5U);
}

// Allows one list of tokens, then the end.
class ListConstraint final : public TokenConstraint {
 public:
  explicit ListConstraint(std::vector<TokenId> list) : list_(std::move(list)) {}
  [[nodiscard]] int32_t vocab_size() const noexcept override { return Sample::kVocabulary; }
  void fill_mask(std::span<uint64_t> mask) override {
    std::fill(mask.begin(), mask.end(), 0);
    const auto token = static_cast<size_t>(list_.at(at_));
    mask[token / 64] |= uint64_t{1} << token % 64;
  }
  void accept(TokenId token) override {
    EXPECT_EQ(token, list_.at(at_));
    ++at_;
  }
  [[nodiscard]] bool can_end() const override { return at_ + 1 >= list_.size(); }
  [[nodiscard]] bool must_end() override { return can_end(); }
  [[nodiscard]] std::unique_ptr<TokenConstraint> clone() const override { return std::make_unique<ListConstraint>(list_); }
  void reset() override { at_ = 0; }

 private:
  std::vector<TokenId> list_;
  size_t at_ = 0;
};

TEST(Engine, AConstraintDecidesWhatEachChoiceMaySay) {
  Sample sample;
  Engine& engine = sample.engine();
  std::vector<TokenId> list = {5, 6, 5, 6, 5, 6, 5, 6, 7};
  list.push_back(*sample.tokenizer->eos());
  Request request = Sample::request({1, 2}, 20);
  request.params.constraint = std::make_shared<ListConstraint>(list);
  request.n = 2;
  Stream free = engine.submit(Sample::request({1, 2}, 20));
  const Answer answer = sample.ask(std::move(request));
  // Where only the end may follow, no step is spent on choosing it.
  list.pop_back();
  EXPECT_EQ(answer.tokens[0], list);
  EXPECT_EQ(answer.tokens[1], list);
  EXPECT_EQ(answer.reason(), StopReason::end_of_sequence);
  EXPECT_EQ(sample.finish(std::move(free)).only(), Sample::continued({1, 2}, 20));
}

TEST(Engine, ThreadsSubmitWhileItRunsAndDrainWaitsForAll) {
  Sample sample;
  Engine& engine = sample.engine({.sequences = 4});
  engine.start();
  std::vector<std::thread> users;
  for (int user = 0; user < 4; ++user) {
    users.emplace_back([&engine, user] {
      for (int32_t index = 0; index < 10; ++index) {
        Stream stream = engine.submit(Sample::request({user, index}, 8));
        Answer answer;
        while (std::optional<StreamEvent> event = stream.next()) answer.add(std::move(*event));
        EXPECT_EQ(answer.only(), Sample::continued({user, index}, 8));
      }
    });
  }
  for (std::thread& user : users) user.join();
  Stream last = engine.submit(Sample::request({1}, 20));
  EXPECT_TRUE(engine.drain(std::chrono::seconds(60)));
  Answer answer;
  EXPECT_TRUE(answer.take(last));
  EXPECT_EQ(answer.reason(), StopReason::max_tokens);
  EXPECT_THROW((void)engine.submit(Sample::request({1}, 1)), EngineBusy);
  engine.stop();
}

TEST(Engine, DrainCancelsWhatTakesTooLong) {
  Sample sample;
  Engine& engine = sample.engine();
  sample.model.watch = [](const Batch&) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  engine.start();
  Stream stream = engine.submit(Sample::request({1}, 400));
  EXPECT_FALSE(engine.drain(std::chrono::milliseconds(30)));
  Answer answer;
  EXPECT_TRUE(answer.take(stream));
  EXPECT_EQ(answer.reason(), StopReason::cancelled);
}

TEST(Engine, AReaderThatReadsNothingHoldsNobodyUp) {
  Sample sample;
  Engine& engine = sample.engine();
  engine.start();
  Stream unread = engine.submit(Sample::request({1}, 300));
  Stream read = engine.submit(Sample::request({2}, 5));
  Answer answer;
  while (std::optional<StreamEvent> event = read.next()) answer.add(std::move(*event));
  EXPECT_EQ(answer.only(), Sample::continued({2}, 5));
  EXPECT_TRUE(engine.drain(std::chrono::seconds(60)));
  Answer late;
  EXPECT_TRUE(late.take(unread));
  EXPECT_EQ(late.only().size(), 300U);
}

TEST(Engine, NothingIsLeftOfAWarmUp) {
  Sample sample;
  Engine& engine = sample.engine();
  engine.warm_up();
  EXPECT_EQ(engine.metrics().kv_blocks_used + engine.metrics().kv_blocks_kept, 0);
  EXPECT_EQ(sample.ask(Sample::request({0, 0, 0}, 5)).only(), Sample::continued({0, 0, 0}, 5));
}

TEST(Engine, IsCancelledThatThrowsInsideOfAStepEndsItsRequestAlone) {
  Sample sample;
  Engine& engine = sample.engine();
  int asked = 0;
  Request request = Sample::request({1}, 50);
  request.params.is_cancelled = [&asked]() -> bool {
    if (++asked == 2) throw std::runtime_error("gone");
    return false;
  };
  Stream bad = engine.submit(std::move(request));
  Stream good = engine.submit(Sample::request({2}, 3));
  EXPECT_EQ(sample.finish(std::move(good)).only(), Sample::continued({2}, 3));
  EXPECT_EQ(sample.finish(std::move(bad)).reason(), StopReason::cancelled);
}

TEST(Engine, MemoryStaysTheSameOverTenThousandRequests) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "ASan keeps what is freed";
#endif
  Sample sample;
  Engine& engine = sample.engine({.sequences = 8, .cache_ram_bytes = 1 << 16});
  std::mt19937 random(1);
  const auto serve = [&](int requests) {
    std::vector<Stream> streams;
    for (int index = 0; index < requests; ++index) {
      Request request = Sample::request(Sample::random_tokens(random, 1 + static_cast<int64_t>(random() % 8)), 2);
      request.user = std::to_string(random());
      streams.push_back(engine.submit(std::move(request)));
      if (index % 5 == 4) streams.back().cancel();
      if (streams.size() < 16) continue;
      while (engine.step()) {}
      streams.clear();
    }
  };
  serve(2000);
  const auto before = static_cast<int64_t>(anonymous_resident_bytes());
  serve(8000);
  EXPECT_LE(static_cast<int64_t>(anonymous_resident_bytes()) - before, 2 << 20);
  EXPECT_EQ(engine.metrics().requests, 10000U);
}

}  // namespace
}  // namespace wick
