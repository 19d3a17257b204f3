// Random requests, cancellations and readers on an engine, against what each request must be answered whatever the others do.
// The leg soak repeats it with other random numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <span>

#include "unit/engine_samples.h"
#include "wick/base/hash.h"

namespace wick {
namespace {

using Sample = EngineSample;

class RandomUsers {
 public:
  // `adaptive`: SpeculationOptions::adaptive; how many tokens are proposed then depends on measured times.
  explicit RandomUsers(uint32_t seed, bool adaptive = true) : random_(seed) {
    options_.context = 160;
    options_.sequences = 1 + pick(8);
    // From hardly more than one whole context to plenty: often too little for all.
    options_.kv_bytes = (6 + pick(25)) * 32 * 16;
    options_.step_rows = 1 + pick(40);
    options_.queue = 1 + pick(20);
    options_.prefix_cache = pick(4) > 0;
    options_.cache_ram_bytes = pick(2) * 20000;
    options_.speculation.most = pick(2) * 6;
    options_.speculation.adaptive = adaptive;
    for (int count = 0; count < 3; ++count) beginnings_.push_back(Sample::random_tokens(random_, 70));
    (void)sample_.engine(options_);
    sample_.model.watch = [this](const Batch& batch) { check(batch); };
  }

  void act() {
    switch (pick(8)) {
      case 0:
      case 1: return submit();
      case 2: return cancel();
      case 3:
        if (pick(20) == 0) sample_.running().forget_prefixes();
        return;
      default: return step();
    }
  }

  [[nodiscard]] EngineMetrics metrics() { return sample_.running().metrics(); }
  // Of all batches, answers and counts so far.
  [[nodiscard]] uint64_t hash() const noexcept { return hash_; }

  void finish() {
    // Each step brings each that runs on, so that this is far more than enough.
    for (int steps = 0; !users_.empty() && steps < 20000; ++steps) step();
    ASSERT_TRUE(users_.empty());
    const EngineMetrics metrics = sample_.running().metrics();
    EXPECT_EQ(metrics.running + metrics.waiting + metrics.kv_blocks_used, 0);
    EXPECT_EQ(metrics.failed, 0U);
    EXPECT_FALSE(sample_.running().step());
  }

 private:
  struct User {
    Stream stream;
    Answer answer;
    std::vector<TokenId> prompt;
    int64_t max_tokens = 0, choices = 1;
    bool cancelled = false;
  };

  int64_t pick(int64_t below) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(below)); }

  void check(const Batch& batch) {
    for (const SequenceSlice& slice : batch.sequences) hash_ = fnv1a(fnv1a(hash_, slice.first), slice.count);
    hash_ = fnv1a(hash_, std::as_bytes(std::span(batch.tokens)));
    hash_ = fnv1a(hash_, std::as_bytes(std::span(batch.positions)));
    EXPECT_LE(std::ssize(batch.sequences), options_.sequences);
    const int64_t decoding =
        std::count_if(batch.sequences.begin(), batch.sequences.end(), [](const auto& slice) { return slice.count == 1; });
    EXPECT_LE(batch.rows(), 512 + decoding * (1 + options_.speculation.most));
  }

  void submit() {
    User user;
    if (pick(2) == 0) {
      const auto& beginning = beginnings_[static_cast<size_t>(pick(3))];
      user.prompt.assign(beginning.begin(), beginning.begin() + pick(71));
    }
    for (const TokenId token : Sample::random_tokens(random_, 1 + pick(60))) user.prompt.push_back(token);
    user.max_tokens = pick(50);
    user.choices = pick(5) == 0 ? 1 + pick(options_.sequences) : 1;
    Request request = Sample::request(user.prompt, user.max_tokens);
    request.n = user.choices;
    request.priority = static_cast<int32_t>(pick(3));
    request.user = std::to_string(pick(3));
    request.cache_prompt = pick(6) > 0;
    request.cache_salt = pick(6) == 0 ? "salt" : "";
    try {
      user.stream = sample_.running().submit(std::move(request));
      users_.push_back(std::move(user));
    } catch (const EngineBusy&) {
      EXPECT_GE(sample_.running().metrics().waiting, options_.queue);
    }
  }

  void cancel() {
    if (users_.empty()) return;
    User& user = users_[static_cast<size_t>(pick(std::ssize(users_)))];
    user.stream.cancel();
    user.cancelled = true;
  }

  void step() {
    (void)sample_.running().step();
    EXPECT_LE(sample_.running().metrics().running, options_.sequences);
    std::erase_if(users_, [this](User& user) {
      const bool ended = user.answer.take(user.stream);
      EXPECT_TRUE(ended || !user.cancelled) << "cancelled, and still there behind a step";
      if (ended) check(user);
      return ended;
    });
  }

  void check(const User& user) {
    const Answer& answer = user.answer;
    for (const std::vector<TokenId>& tokens : answer.tokens) hash_ = fnv1a(hash_, std::as_bytes(std::span(tokens)));
    for (const FinishEvent& finish : answer.finishes) {
      const Usage& usage = finish.usage;
      for (const int64_t number : {finish.choice, static_cast<int64_t>(finish.reason), usage.cached_tokens, usage.completion_tokens,
                                   usage.draft_tokens, usage.accepted_tokens, usage.preemptions}) {
        hash_ = fnv1a(hash_, static_cast<uint64_t>(number));
      }
    }
    ASSERT_FALSE(answer.error) << answer.error->message;
    ASSERT_EQ(std::ssize(answer.finishes), user.choices);
    for (const FinishEvent& finish : answer.finishes) {
      const auto choice = static_cast<size_t>(finish.choice);
      const std::vector<TokenId> none;
      const std::vector<TokenId>& tokens = choice < answer.tokens.size() ? answer.tokens[choice] : none;
      EXPECT_EQ(tokens, Sample::continued(user.prompt, std::ssize(tokens)));
      const int64_t room = options_.context + 1 - std::ssize(user.prompt);
      if (user.cancelled && finish.reason == StopReason::cancelled) continue;
      EXPECT_EQ(std::ssize(tokens), std::min(user.max_tokens, room));
      EXPECT_EQ(finish.reason, user.max_tokens <= room ? StopReason::max_tokens : StopReason::context_full);
    }
  }

  std::mt19937 random_;
  EngineOptions options_;
  Sample sample_{160};
  std::vector<std::vector<TokenId>> beginnings_;
  std::vector<User> users_;
  uint64_t hash_ = kFnvBasis;
};

TEST(EngineRandom, EveryRequestIsAnsweredAsIfItWereAlone) {
  const auto base = static_cast<uint32_t>(testing::UnitTest::GetInstance()->random_seed()) * 1000;
  for (uint32_t round = 0; round < 6; ++round) {
    SCOPED_TRACE("seed " + std::to_string(base + round));
    RandomUsers users(base + round);
    for (int action = 0; action < 400; ++action) users.act();
    users.finish();
    if (testing::Test::HasFailure()) return;
  }
}

// Schedules are data: changing a policy changes these numbers, moving code does not.
TEST(EngineSteps, AreThoseRecordedForEachSeed) {
  struct Recorded {
    uint64_t steps, preemptions, prefix_hits, hash;
  };
  const std::vector<Recorded> recorded = {
      {235, 4, 340, 0x5B91FA72B85147C7},  {293, 13, 581, 0xFA3D9F1B2EF04210}, {297, 4, 133, 0xB53BF93D47CC4CAD},
      {258, 8, 0, 0x5B0F8BF93049E451},    {328, 9, 708, 0x7270DA0CEE697C1C},  {219, 9, 462, 0x2E2DF472D9D39BCA},
      {418, 7, 232, 0xD6AB46EEC6D2866E},  {262, 11, 315, 0x70E62FB6339F0958}, {332, 18, 1021, 0x85673017396AA3E2},
      {265, 10, 291, 0x10D8DAF9DF7E86ED}, {297, 6, 0, 0x33B547C89E6F54C8},    {344, 10, 289, 0x3D25816E94E3E1DA},
  };
  for (uint32_t seed = 0; seed < recorded.size(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomUsers users(seed, false);
    for (int action = 0; action < 400; ++action) users.act();
    users.finish();
    const EngineMetrics metrics = users.metrics();
    EXPECT_EQ(metrics.steps, recorded[seed].steps);
    EXPECT_EQ(metrics.preemptions, recorded[seed].preemptions);
    EXPECT_EQ(metrics.prefix_hit_tokens, recorded[seed].prefix_hits);
    EXPECT_EQ(users.hash(), recorded[seed].hash) << std::hex << users.hash();
  }
}

}  // namespace
}  // namespace wick
