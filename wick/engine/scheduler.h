// The Scheduler decides which sequences of an Engine run, and how many rows of the next step each gets. It knows neither model nor memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "wick/engine/sequence.h"

namespace wick {

struct SchedulerLimits {
  int64_t sequences = 32;  // that run at once
  // Rows of a step while sequences are decoding, and the larger limit while many prompts are read. The defaults are a processor's, where
  // each row costs about the same. The longest steps take 1.5 times as long as most, which leaves room for what steps of equal rows differ
  // by.
  int64_t step_rows = 16, max_rows_while_decoding = 24;
  int64_t idle_rows = 512;  // of a step in which nobody decodes
  std::chrono::milliseconds aging = std::chrono::seconds(10);
};

class Scheduler {
 public:
  explicit Scheduler(const SchedulerLimits& limits) : limits_(limits) {}

  [[nodiscard]] const std::vector<std::unique_ptr<Sequence>>& running() const noexcept { return running_; }
  [[nodiscard]] const std::vector<std::unique_ptr<Sequence>>& waiting() const noexcept { return waiting_; }
  [[nodiscard]] int64_t free_slots() const noexcept;

  // Adds one that waits; one that runs.
  void queue(std::unique_ptr<Sequence> sequence);
  void add_running(std::unique_ptr<Sequence> sequence) { running_.push_back(std::move(sequence)); }
  // From waiting to running, and back.
  void start(const Sequence& sequence);
  void preempt(const Sequence& sequence, EngineClock::time_point now);
  // Lets go of those that have ended.
  void remove_ended();

  // Those that wait, in the order in which they are to start: by priority, which grows while they wait; then users take turns, as many as
  // run for each counted; then by arrival.
  [[nodiscard]] std::vector<Sequence*> turns(EngineClock::time_point now) const;
  // The running one that is to make room: of the lowest priority, and of these the last that came. None where none runs.
  [[nodiscard]] Sequence* victim() const;
  // Rows of the next step for each that runs, in their order: one for each that decodes, none for what waits for a mask, the rest for
  // prompts, those of higher priority first. Of one priority the first that came has a quarter of the rows, so that it goes on whoever
  // comes; the shortest has the others, then the next one: two that are read one after the other have their first tokens sooner, on
  // average, than two that share.
  [[nodiscard]] std::vector<int64_t> share_rows() const;

 private:
  // Prompts go on, if slowly, where more decode than a step has rows.
  static constexpr int64_t kMinPromptRows = 8;

  // Rows for prompts in the next step, given the numbers of prompts and of decoding sequences.
  [[nodiscard]] int64_t prompt_rows(int64_t prompts, int64_t decoding) const noexcept;

  SchedulerLimits limits_;
  std::vector<std::unique_ptr<Sequence>> waiting_, running_;
  // Places that each user who is here has had. Who comes has had as many as the one who had fewest.
  std::map<std::string, int64_t, std::less<>> served_;
};

}  // namespace wick
