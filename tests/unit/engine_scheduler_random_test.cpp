// Random requests, preemptions and ends in simulated time, against a model of the Scheduler that is as simple as its words. A run is 36 s;
// the leg soak repeats it with other random numbers, a hundred times: an hour.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <tuple>

#include "unit/engine_samples.h"
#include "wick/engine/scheduler.h"

namespace wick {
namespace {

using std::chrono::milliseconds;

// One that waits or runs, as the model knows it.
struct Entry {
  Sequence* sequence = nullptr;
  int32_t priority = 0;
  std::string user;
  uint64_t order = 0;
  int64_t choice = 0, choices = 1, max_tokens = 0;
  int64_t prompt = 0, generated = 0, computed = 0;
  EngineClock::time_point since;
  bool runs = false;

  [[nodiscard]] int64_t slots() const { return generated == 0 && choice == 0 ? choices : 1; }
  [[nodiscard]] int64_t remaining() const { return prompt + generated - computed; }
  [[nodiscard]] bool decodes() const { return generated > 0 && remaining() == 1; }
};

class ScheduledHour {
 public:
  explicit ScheduledHour(uint32_t seed) : random_(seed) {
    const int64_t step_rows = 1 + pick(64);
    limits_ = {.sequences = 1 + pick(8),
               .step_rows = step_rows,
               .max_rows_while_decoding = step_rows + pick(2) * pick(64),
               .idle_rows = 16 + pick(200),
               .aging = milliseconds(200 + pick(2000))};
    scheduler_.emplace(limits_);
    // From a server that is idle now and then to one whose queue only grows.
    pause_ = milliseconds(50 + pick(600));
  }

  void run(std::chrono::seconds time) {
    const EngineClock::time_point end = now_ + time;
    EngineClock::time_point arrival = now_;
    while (now_ < end) {
      for (; arrival <= now_; arrival += milliseconds(pick(2 * pause_.count()))) arrive();
      step();
      if (testing::Test::HasFailure()) return;
    }
    for (int steps = 0; !entries_.empty() && steps < 1'000'000; ++steps) step();
    EXPECT_TRUE(entries_.empty());
    EXPECT_EQ(scheduler_->free_slots(), limits_.sequences);
  }

 private:
  int64_t pick(int64_t below) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(below)); }

  void arrive() {
    if (std::ssize(entries_) > 40) return;
    auto request = std::make_shared<ActiveRequest>();
    request->prompt.assign(static_cast<size_t>(1 + pick(pick(8) == 0 ? 300 : 40)), 1);
    request->request = EngineSample::request(request->prompt, 1 + pick(60));
    request->request.n = pick(6) == 0 ? 1 + pick(limits_.sequences) : 1;
    request->request.priority = static_cast<int32_t>(pick(4) == 0 ? pick(3) : 0);
    request->request.user = std::string("user ") + std::to_string(pick(4));
    request->order = ++orders_;
    request->submitted = now_;
    request->open = request->request.n;
    request->stream = std::make_shared<StreamState>(orders_, nullptr);
    auto sequence = std::make_unique<Sequence>(request, 0, tokenizer_);
    entries_.push_back({.sequence = sequence.get(),
                        .priority = request->request.priority,
                        .user = request->request.user,
                        .order = orders_,
                        .choices = request->request.n,
                        .max_tokens = request->request.params.max_tokens,
                        .prompt = std::ssize(request->prompt),
                        .since = now_});
    int64_t fewest = places_.empty() ? 0 : places_.begin()->second;
    for (const auto& [user, places] : places_) fewest = std::min(fewest, places);
    places_.emplace(request->request.user, fewest);
    scheduler_->queue(std::move(sequence));
  }

  // What an engine does in a step.
  void step() {
    leave();
    admit();
    const std::vector<int64_t> rows = scheduler_->share_rows();
    check_rows(rows);
    std::vector<Sequence*> running;
    for (const auto& sequence : scheduler_->running()) running.push_back(sequence.get());
    int64_t computed = 0;
    for (size_t index = 0; index < running.size(); ++index) {
      computed += rows[index];
      compute(running[index], rows[index]);
    }
    remove_ended();
    now_ += milliseconds(1 + computed / 4 + pick(5));
    check();
  }

  // Clients go, some of them while they wait.
  void leave() {
    if (entries_.empty() || pick(40) != 0) return;
    const Entry& one = entries_[static_cast<size_t>(pick(std::ssize(entries_)))];
    one.sequence->ended = true;
    remove_ended();
  }

  void remove_ended() {
    std::erase_if(entries_, [](const Entry& entry) { return entry.sequence->ended; });
    std::erase_if(places_, [this](const auto& places) {
      return std::none_of(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.user == places.first; });
    });
    scheduler_->remove_ended();
  }

  void admit() {
    for (Sequence* sequence : scheduler_->turns(now_)) {
      while (sequence->slots() > scheduler_->free_slots()) {
        Sequence* const victim = scheduler_->victim();
        if (victim == nullptr || entry_of(*victim).priority >= entry_of(*sequence).priority) return;
        preempt(*victim);
      }
      Entry& entry = entry_of(*sequence);
      places_[entry.user] += entry.slots();
      entry.runs = true;
      scheduler_->start(*sequence);
      check();
    }
  }

  void preempt(Sequence& sequence) {
    Entry& entry = entry_of(sequence);
    places_[entry.user] -= entry.slots();
    entry.runs = false;
    entry.computed = sequence.computed = 0;
    entry.since = now_;
    scheduler_->preempt(sequence, now_);
    check();
  }

  void compute(Sequence* sequence, int64_t rows) {
    entry_of(*sequence).computed += rows;
    sequence->computed += rows;
    if (sequence->remaining() > 0) return;
    const int64_t choices = sequence->slots();
    for (int64_t choice = 1; choice < choices; ++choice) {
      auto other = std::make_unique<Sequence>(sequence->shared_request(), choice, tokenizer_);
      other->computed = sequence->computed;
      Entry entry = entry_of(*sequence);
      entry.sequence = other.get();
      entry.choice = choice;
      entries_.push_back(entry);
      scheduler_->add_running(std::move(other));
      generate(*entry.sequence);
    }
    generate(*sequence);
  }

  void generate(Sequence& sequence) {
    Entry& entry = entry_of(sequence);
    ++entry.generated;
    const bool ends = sequence.take(1, 100'000).has_value();
    EXPECT_EQ(ends, entry.generated == entry.max_tokens);
    sequence.ended = ends;
  }

  Entry& entry_of(const Sequence& sequence) {
    return *std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.sequence == &sequence; });
  }

  // --- The model ---

  [[nodiscard]] int64_t priority(const Entry& entry) const { return entry.priority + (now_ - entry.since) / limits_.aging; }

  // Next is who has the highest priority, which grows with waiting; of these, whose user has had fewest places, with those that are in
  // front of it in the line of its user; of these, who came first.
  std::vector<Sequence*> turns() {
    std::vector<std::tuple<int64_t, int64_t, uint64_t, int64_t, Sequence*>> line;
    for (const Entry& one : entries_) {
      if (one.runs) continue;
      const auto key = [&](const Entry& entry) { return std::tuple(-priority(entry), entry.order, entry.choice); };
      const int64_t before = std::count_if(entries_.begin(), entries_.end(), [&](const Entry& other) {
        return !other.runs && other.user == one.user && key(other) < key(one);
      });
      line.emplace_back(-priority(one), places_[one.user] + before, one.order, one.choice, one.sequence);
    }
    std::sort(line.begin(), line.end());
    std::vector<Sequence*> order;
    for (const auto& place : line) order.push_back(std::get<4>(place));
    return order;
  }

  void check() {
    int64_t taken = 0;
    const Entry* victim = nullptr;
    for (const Entry& entry : entries_) {
      if (!entry.runs) continue;
      taken += entry.slots();
      const auto key = [](const Entry& one) { return std::tuple(-one.priority, one.order, one.choice); };
      if (victim == nullptr || key(entry) > key(*victim)) victim = &entry;
    }
    EXPECT_LE(taken, limits_.sequences);
    EXPECT_EQ(scheduler_->free_slots(), limits_.sequences - taken);
    EXPECT_EQ(scheduler_->victim(), victim == nullptr ? nullptr : victim->sequence);
    EXPECT_EQ(scheduler_->turns(now_), turns());
  }

  // One row for each that decodes, then one row after the other to a prompt.
  void check_rows(const std::vector<int64_t>& rows) {
    std::vector<const Entry*> entries;
    std::vector<const Entry*> prompts;
    for (const auto& sequence : scheduler_->running()) {
      entries.push_back(&entry_of(*sequence));
      if (!entries.back()->decodes()) prompts.push_back(entries.back());
    }
    const int64_t decoding = std::ssize(entries) - std::ssize(prompts);
    const int64_t crowd = std::min(limits_.max_rows_while_decoding - decoding, std::ssize(prompts) * std::ssize(prompts) / 4);
    const int64_t left = decoding == 0 ? limits_.idle_rows : std::max({int64_t{8}, limits_.step_rows - decoding, crowd});
    std::map<const Entry*, int64_t> expected = hand_out(prompts, left);
    for (size_t index = 0; index < rows.size(); ++index) {
      EXPECT_EQ(rows[index], entries[index]->decodes() ? 1 : expected[entries[index]]) << index;
    }
  }

  // Of the highest priority that wants rows: to who came first until it has a quarter of what there was for that priority, then to who has
  // the least left to compute.
  static std::map<const Entry*, int64_t> hand_out(std::vector<const Entry*> prompts, int64_t left) {
    std::map<const Entry*, int64_t> given;
    std::sort(prompts.begin(), prompts.end(), [](const Entry* a, const Entry* b) {
      return std::tuple(-a->priority, a->remaining(), a->order, a->choice) < std::tuple(-b->priority, b->remaining(), b->order, b->choice);
    });
    std::map<int32_t, const Entry*, std::greater<>> first;  // of each priority
    for (const Entry* one : prompts) {
      const Entry*& there = first[one->priority];
      if (there == nullptr || std::tuple(one->order, one->choice) < std::tuple(there->order, there->choice)) there = one;
    }
    for (const auto& [priority, one] : first) {
      for (int64_t rows = (left + 3) / 4; rows > 0 && given[one] < one->remaining(); --rows, --left) ++given[one];
      for (const Entry* next : prompts) {
        for (; next->priority == priority && left > 0 && given[next] < next->remaining(); --left) ++given[next];
      }
    }
    return given;
  }

  std::mt19937 random_;
  SchedulerLimits limits_;
  std::optional<Scheduler> scheduler_;
  std::shared_ptr<const Tokenizer> tokenizer_ = fake_tokenizer();
  std::vector<Entry> entries_;
  std::map<std::string, int64_t> places_;  // that each user who is here has had
  EngineClock::time_point now_;
  milliseconds pause_{0};
  uint64_t orders_ = 0;
};

TEST(EngineRandom, TheSchedulerDoesAsASimpleModelDoes) {
  const auto base = static_cast<uint32_t>(testing::UnitTest::GetInstance()->random_seed()) * 1000;
  for (uint32_t round = 0; round < 6; ++round) {
    SCOPED_TRACE("seed " + std::to_string(base + round));
    ScheduledHour(base + round).run(std::chrono::seconds(6));
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace wick
