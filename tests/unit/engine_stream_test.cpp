#include "wick/engine/stream.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "wick/engine/engine_options.h"
#include "wick/engine/request.h"
#include "wick/engine/stream_state.h"

namespace wick {
namespace {

TEST(Stream, EventsComeInOrderAndEndWithTheLast) {
  const auto state = std::make_shared<StreamState>(7, nullptr);
  Stream stream(state);
  EXPECT_EQ(stream.id(), 7U);
  EXPECT_FALSE(stream.poll());
  state->push(TokenEvent{.token = 1}, false);
  state->push(FinishEvent{}, true);
  state->push(ErrorEvent{}, true);  // behind the last one: not told
  EXPECT_FALSE(stream.poll()) << "before it is published";
  state->publish();
  EXPECT_FALSE(stream.ended());
  EXPECT_EQ(std::get<TokenEvent>(*stream.next()).token, 1);
  EXPECT_TRUE(std::holds_alternative<FinishEvent>(*stream.next()));
  EXPECT_TRUE(stream.ended());
  EXPECT_FALSE(stream.next());
}

TEST(Stream, AWaitIsWokenByAnotherThread) {
  const auto state = std::make_shared<StreamState>(1, nullptr);
  Stream stream(state);
  std::thread engine([&] {
    state->push(ErrorEvent{.message = "lost"}, true);
    state->publish();
  });
  EXPECT_EQ(std::get<ErrorEvent>(*stream.next()).message, "lost");
  engine.join();
  EXPECT_FALSE(stream.next_within(std::chrono::hours(1))) << "returns at once behind the end";
}

TEST(Stream, APollDoesNotWait) {
  const auto state = std::make_shared<StreamState>(1, nullptr);
  Stream stream(state);
  // A wait that is over at once takes a call of the system, tens of microseconds of it on virtual machines.
  const auto begin = std::chrono::steady_clock::now();
  for (int count = 0; count < 10'000; ++count) EXPECT_FALSE(stream.poll());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(500));
}

TEST(Stream, OneThatIsDestroyedOrReplacedIsCancelled) {
  int woken = 0;
  const auto first = std::make_shared<StreamState>(1, [&] { ++woken; });
  const auto second = std::make_shared<StreamState>(2, [&] { ++woken; });
  {
    Stream stream(first);
    stream = Stream(second);
    EXPECT_TRUE(first->cancelled());
    stream.cancel();
    stream.cancel();
    EXPECT_EQ(woken, 2) << "the second cancel() of a stream changes nothing";
  }
  EXPECT_EQ(woken, 2);
}

TEST(Stream, ACallbackThatThrowsCancelsAndIsNotCalledAgain) {
  const auto state = std::make_shared<StreamState>(1, nullptr);
  Stream stream(state);
  int called = 0;
  stream.on_ready([&] {
    ++called;
    throw std::runtime_error("closed");
  });
  for (int step = 0; step < 2; ++step) {
    state->push(TokenEvent{}, false);
    state->publish();
  }
  EXPECT_EQ(called, 1);
  EXPECT_TRUE(state->cancelled());
}

TEST(Request, AllViolationsAreFoundAtOnce) {
  const EngineInfo engine{.vocab_size = 10, .sequences = 4};
  EXPECT_TRUE(find_violations(Request{}, engine).empty());
  Request request{.prompt = "a", .tokens = {1}, .n = 5, .best_of = 2, .prompt_logprobs = -1};
  request.params.max_tokens = -1;
  request.params.sampling.temperature = 101;
  request.params.sampling.logit_bias = {{.token = 10, .bias = 1}};
  request.params.stop.assign(65, "x");
  request.params.logprobs = 101;
  std::vector<std::string> found;
  for (const ParameterViolation& violation : find_violations(request, engine)) found.push_back(violation.parameter);
  EXPECT_EQ(found, (std::vector<std::string>{"temperature", "max_tokens", "stop", "logprobs", "prompt_logprobs", "logit_bias", "tokens",
                                             "n", "best_of"}));
}

}  // namespace
}  // namespace wick
