// The Scheduler decides which sequences of an Engine run, which make room for others, and how many rows of the next step each gets: by
// priority, turn and arrival, and by the blocks of memory that there are. It knows no model.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wick/engine/sequence.h"
#include "wick/engine/sequence_memory.h"

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

// The rows of one sequence in a step: `count` of its tokens, followed by up to `max_proposed` proposed ones.
struct SequenceRows {
  Sequence* sequence;
  int64_t count;
  int64_t max_proposed = std::numeric_limits<int64_t>::max();
  std::vector<TokenId> proposed = {};
  std::optional<int64_t> earlier = {};    // its token is that of this row of the step before, which the host has not read
  int64_t first_result = 0, results = 0;  // its rows of the result
  [[nodiscard]] int64_t rows() const noexcept { return count + std::ssize(proposed); }
};

// The decisions of admit().
struct Admission {
  struct Start {
    Sequence* sequence;
    int64_t cached;  // positions of its text that were kept
  };
  std::vector<Start> started;
  std::vector<Sequence*> preempted;
  std::vector<std::pair<Sequence*, std::exception_ptr>> failed;  // that got no memory; they still wait
  int64_t restored_tokens = 0;                                   // that came from host memory or a file
};

// The decisions of fit().
struct Fit {
  std::vector<Sequence*> preempted;
  Sequence* failed = nullptr;  // runs alone, and has no room for one more token
};

class Scheduler {
 public:
  explicit Scheduler(const SchedulerLimits& limits) : limits_(limits) {}

  [[nodiscard]] const std::vector<std::unique_ptr<Sequence>>& running() const noexcept { return running_; }
  [[nodiscard]] const std::vector<std::unique_ptr<Sequence>>& waiting() const noexcept { return waiting_; }
  [[nodiscard]] int64_t free_slots() const noexcept;
  // The most rows of a step.
  [[nodiscard]] int64_t idle_rows() const noexcept { return limits_.idle_rows; }
  // Calls a function with each sequence, the running ones first.
  template <class Function>
  void for_each(Function function) const {
    for (const auto* list : {&running_, &waiting_}) {
      for (const auto& one : *list) function(*one);
    }
  }

  // Adds one that waits; one that runs.
  void queue(std::unique_ptr<Sequence> sequence);
  void add_running(std::unique_ptr<Sequence> sequence) { running_.push_back(std::move(sequence)); }
  // From waiting to running, and back.
  void start(const Sequence& sequence);
  void preempt(const Sequence& sequence, EngineClock::time_point now);
  // The same, and takes its memory.
  void preempt(Sequence& sequence, SequenceMemory& memory);
  // Lets go of those that have ended.
  void remove_ended();

  // --- Admission ---
  // Starts those that wait, in turn, while there are places and memory for them; one of a higher priority takes the places of running ones.
  // A prompt that begins like one that is being computed waits for its blocks. `only_begun`: only those that had been preempted.
  [[nodiscard]] Admission admit(SequenceMemory& memory, bool only_begun);
  // Whether admit() might start one.
  [[nodiscard]] bool may_admit() const;

  // --- The rows of the next step ---
  // The sequences that have rows: share_rows(), or fewer where the step is to end with a state that is worth keeping.
  [[nodiscard]] std::vector<SequenceRows> plan(const SequenceMemory& memory) const;
  // Whether there are blocks for all of them.
  [[nodiscard]] static bool fits(const std::vector<SequenceRows>& step, const SequenceMemory& memory);
  // Makes the step fit: without the proposed tokens, then without the last of the lowest priority, which are preempted.
  [[nodiscard]] Fit fit(std::vector<SequenceRows>& step, SequenceMemory& memory);

  // Those that wait, in the order in which they are to start: by priority, which grows while they wait; then users take turns, as many as
  // run for each counted; then by arrival.
  [[nodiscard]] std::vector<Sequence*> turns(EngineClock::time_point now) const;
  // The running one that is to make room: of the lowest priority, and of these the last that came. None where none runs.
  [[nodiscard]] Sequence* victim() const;
  // Rows of the next step for each that runs, in their order: those left of each that decodes, none for what waits for a mask, the rest
  // for prompts, those of higher priority first. Of one priority the first that came has a quarter of the rows, so that it goes on whoever
  // comes; the shortest has the others, then the next one: two that are read one after the other have their first tokens sooner, on
  // average, than two that share.
  [[nodiscard]] std::vector<int64_t> share_rows() const;

 private:
  // Prompts go on, if slowly, where more decode than a step has rows.
  static constexpr int64_t kMinPromptRows = 8;

  // Preempts until there are places for this one. Whether there are.
  [[nodiscard]] bool make_slots(const Sequence& sequence, SequenceMemory& memory, Admission& admission);
  // Whether a running sequence computes what this one will find in the prefix cache.
  [[nodiscard]] bool waits_for_shared_prompt(const Sequence& sequence, SequenceMemory& memory) const;
  // Starts one if there is memory for it. Whether the next one's turn comes.
  [[nodiscard]] bool try_start(Sequence& sequence, SequenceMemory& memory, Admission& admission);
  // Blocks that running sequences will take for what they have yet to compute, and for one token more each.
  [[nodiscard]] int64_t promised_blocks(const SequenceMemory& memory) const;
  // Rows for prompts in the next step, given the numbers of prompts and of decoding sequences.
  [[nodiscard]] int64_t prompt_rows(int64_t prompts, int64_t decoding) const noexcept;

  SchedulerLimits limits_;
  std::vector<std::unique_ptr<Sequence>> waiting_, running_;
  // Places that each user who is here has had. Who comes has had as many as the one who had fewest.
  std::map<std::string, int64_t, std::less<>> served_;
};

}  // namespace wick
