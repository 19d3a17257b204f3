// How evenly the Scheduler hands out tokens, in simulated time: requests that arrive at random, on machines whose steps take a time linear
// in their rows, give or take what those of equal rows differ by on a virtual machine with nothing else to do: their p99 is 1.35 of the
// median.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "unit/engine_samples.h"
#include "wick/cli/measure/statistics.h"
#include "wick/engine/scheduler.h"

namespace wick {
namespace {

// Milliseconds of a step, of a row of it that decodes and of one of a prompt.
struct Machine {
  std::string name;
  double step, decoding, prompt;
};

// As measured with the default model on two cores of an EPYC (Zen 3), of one with VNNI (Zen 4) and of a Xeon with AMX.
const std::vector<Machine>& machines() {
  static const std::vector<Machine> all = {{"zen 3", 1.0, 0.33, 0.24}, {"zen 4", 0.2, 0.11, 0.072}, {"xeon", 0.43, 0.105, 0.088}};
  return all;
}

struct Load {
  int64_t requests = 1500;
  double rate = 0;  // a millisecond; 0: all are there at the beginning
  int64_t prompt = 128, tokens = 128;
  uint64_t seed = 1;
};

// Milliseconds, but for the rate.
struct Outcome {
  std::vector<double> gaps, firsts, totals;
  double rate = 0;

  void sort() {
    for (auto* times : {&gaps, &firsts, &totals}) std::sort(times->begin(), times->end());
  }
};

class Service {
 public:
  Service(const Machine& machine, const SchedulerLimits& limits) : machine_(machine), limits_(limits), scheduler_(limits) {}

  Outcome run(const Load& load) {
    std::mt19937_64 random(load.seed);
    double arrival = 0;
    for (int64_t arrived = 0; arrived < load.requests || !times_.empty();) {
      for (; arrived < load.requests && arrival <= now_; ++arrived) {
        submit(arrival, load.prompt, load.tokens);
        if (load.rate > 0) arrival += -std::log1p(-static_cast<double>(random() >> 11) * 0x1p-53) / load.rate;
      }
      if (times_.empty()) now_ = arrival;
      step();
    }
    outcome_.rate = static_cast<double>(load.requests) / now_;
    outcome_.sort();
    return std::move(outcome_);
  }

  Sequence& submit(double arrived, int64_t prompt, int64_t tokens) {
    auto request = std::make_shared<ActiveRequest>();
    request->prompt.assign(static_cast<size_t>(prompt), 1);
    request->request = EngineSample::request(request->prompt, tokens);
    request->order = ++orders_;
    request->stream = std::make_shared<StreamState>(orders_, nullptr);
    auto sequence = std::make_unique<Sequence>(request, 0, tokenizer_);
    Sequence& there = *sequence;
    times_[&there] = {arrived, 0};
    scheduler_.queue(std::move(sequence));
    return there;
  }

  // Rows of each that runs.
  std::vector<int64_t> step() {
    for (Sequence* sequence : scheduler_.turns({})) {
      if (scheduler_.free_slots() > 0) scheduler_.start(*sequence);
    }
    std::vector<int64_t> rows = scheduler_.share_rows();
    double time = machine_.step;
    for (size_t index = 0; index < rows.size(); ++index) {
      const bool decodes = scheduler_.running()[index]->decodes();
      time += static_cast<double>(rows[index]) * (decodes ? machine_.decoding : machine_.prompt);
    }
    now_ += time * std::exp(kDeviation * normal());
    for (size_t index = 0; index < rows.size(); ++index) compute(*scheduler_.running()[index], rows[index]);
    scheduler_.remove_ended();
    return rows;
  }

 private:
  struct Times {
    double arrived, last;
  };

  static constexpr double kDeviation = 0.13;  // of the logarithm of a step's time: exp(2.33 × 0.13) = 1.35

  // The sum of twelve uniform numbers, which is the same everywhere, as those of std::normal_distribution are not.
  double normal() {
    double sum = -6;
    for (int index = 0; index < 12; ++index) sum += static_cast<double>(noise_() >> 11) * 0x1p-53;
    return sum;
  }

  void compute(Sequence& sequence, int64_t rows) {
    sequence.computed += rows;
    if (sequence.remaining() > 0) return;
    Times& times = times_.at(&sequence);
    if (sequence.generated() > 0) {
      outcome_.gaps.push_back(now_ - times.last);
    } else {
      outcome_.firsts.push_back(now_ - times.arrived);
    }
    times.last = now_;
    if (!sequence.take(1, 100'000)) return;
    outcome_.totals.push_back(now_ - times.arrived);
    sequence.ended = true;
    times_.erase(&sequence);
  }

  Machine machine_;
  SchedulerLimits limits_;
  Scheduler scheduler_;
  std::shared_ptr<const Tokenizer> tokenizer_ = fake_tokenizer();
  std::map<const Sequence*, Times> times_;  // of those that are here
  Outcome outcome_;
  std::mt19937_64 noise_{7};
  double now_ = 0;
  uint64_t orders_ = 0;
};

double saturated_rate(const Machine& machine, const SchedulerLimits& limits) {
  return Service(machine, limits).run({.requests = 500}).rate;
}

TEST(SchedulerLatency, OfAHundredTokensAtFourFifthsOfTheLoadOneComesLaterThanTwiceTheMedian) {
  for (const Machine& machine : machines()) {
    SCOPED_TRACE(machine.name);
    const double rate = 0.8 * saturated_rate(machine, {});
    for (const uint64_t seed : {1, 2, 3}) {
      const Outcome outcome = Service(machine, {}).run({.requests = 2500, .rate = rate, .seed = seed});
      EXPECT_LE(quantile(outcome.gaps, 0.99), 2 * quantile(outcome.gaps, 0.5)) << "seed " << seed;
    }
  }
}

TEST(SchedulerLatency, ShortStepsCostFirstTokensSomeAndWholeAnswersLittle) {
  constexpr SchedulerLimits kLong = {.step_rows = 64, .max_rows_while_decoding = 64};
  for (const Machine& machine : machines()) {
    SCOPED_TRACE(machine.name);
    for (const double load : {0.5, 0.8}) {
      const double rate = load * saturated_rate(machine, kLong);
      const Outcome with_long = Service(machine, kLong).run({.rate = rate});
      const Outcome outcome = Service(machine, {}).run({.rate = rate});
      EXPECT_LE(quantile(outcome.gaps, 0.99), 0.65 * quantile(with_long.gaps, 0.99)) << load;
      EXPECT_LE(quantile(outcome.firsts, 0.5), 3.5 * quantile(with_long.firsts, 0.5)) << load;
      EXPECT_LE(quantile(outcome.totals, 0.5), 1.08 * quantile(with_long.totals, 0.5)) << load;
      EXPECT_LE(quantile(outcome.totals, 0.99), quantile(with_long.totals, 0.99)) << load;
    }
  }
}

TEST(SchedulerLatency, ALoadWithoutPauseIsServedAlmostAsFastAsByLongSteps) {
  for (const Machine& machine : machines()) {
    EXPECT_GE(saturated_rate(machine, {}), 0.9 * saturated_rate(machine, {.step_rows = 64, .max_rows_while_decoding = 64})) << machine.name;
  }
}

// One that decodes, and prompts of these lengths beside it: the rows of each.
std::vector<int64_t> rows_beside_one(const SchedulerLimits& limits, const std::vector<int64_t>& prompts) {
  Service service(machines()[0], limits);
  service.submit(0, 1, 100);
  (void)service.step();
  for (const int64_t prompt : prompts) service.submit(0, prompt, 1);
  std::vector<int64_t> rows = service.step();
  EXPECT_EQ(rows.front(), 1);
  rows.erase(rows.begin());
  return rows;
}

TEST(SchedulerLatency, PromptsAreReadOneBehindTheOther) {
  EXPECT_EQ(rows_beside_one({.step_rows = 21, .max_rows_while_decoding = 21}, {40, 40, 40}), (std::vector<int64_t>{20, 0, 0}));
  EXPECT_EQ(rows_beside_one({.step_rows = 21, .max_rows_while_decoding = 21}, {16, 40, 40}), (std::vector<int64_t>{16, 4, 0}));
}

TEST(SchedulerLatency, AShortPromptOvertakesAndTheFirstThatCameGoesOn) {
  EXPECT_EQ(rows_beside_one({.step_rows = 21, .max_rows_while_decoding = 21}, {300, 9, 200, 40}), (std::vector<int64_t>{5, 9, 0, 6}));
  EXPECT_EQ(rows_beside_one({.step_rows = 21, .max_rows_while_decoding = 21}, {300, 9}), (std::vector<int64_t>{11, 9}));
}

TEST(SchedulerLatency, StepsGrowWhereManyPromptsAreRead) {
  const auto total = [](const SchedulerLimits& limits, size_t prompts) {
    const std::vector<int64_t> rows = rows_beside_one(limits, std::vector<int64_t>(prompts, 100));
    return std::accumulate(rows.begin(), rows.end(), int64_t{0});
  };
  EXPECT_EQ(total({}, 1), 15);
  EXPECT_EQ(total({}, 7), 15);
  EXPECT_EQ(total({}, 9), 20);
  EXPECT_EQ(total({}, 20), 23);
  EXPECT_EQ(total({.step_rows = 12, .max_rows_while_decoding = 12}, 20), 11) << "what the user asked for is not exceeded";
}

TEST(SchedulerLatency, ALongPromptIsReadHoweverManyShortOnesCome) {
  Service service(machines()[0], {.sequences = 8});
  service.submit(0, 1, 100'000);
  (void)service.step();
  const Sequence& slow = service.submit(0, 600, 2);
  int steps = 0;
  for (; slow.generated() == 0 && steps < 1000; ++steps) {
    service.submit(0, 30, 1);
    (void)service.step();
  }
  EXPECT_LE(steps, 600 / (16 / 4) + 1);
}

}  // namespace
}  // namespace wick
