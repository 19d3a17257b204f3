// Speculation proposes tokens that probably come next; the model then checks several in one step (Leviathan et al. 2023).
//
// A proposal is one sequence of tokens, so that checking it is to choose each token as without it and to go on while the proposal was
// right: the chosen tokens are those of plain decoding, greedy or sampled, from the same random numbers.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "wick/text/tokenizer/vocabulary.h"

namespace wick {

// Finds the last place where the last tokens of a text stood before.
class NgramIndex {
 public:
  // The `most` tokens that followed there, and behind the text's end those proposed, as a text that repeats itself goes on; empty without
  // such a place. Only tokens new since the last call are read.
  [[nodiscard]] std::vector<TokenId> propose(std::span<const TokenId> text, int64_t most);

 private:
  static constexpr size_t kTokens = 3;

  std::unordered_map<uint64_t, size_t> follows_;  // the hash of so many tokens, and the place behind them
  size_t indexed_ = 0;                            // places up to here are in it
};

// How likely a proposed token is right, by those of the last steps.
class Acceptance {
 public:
  void add(int64_t proposed, int64_t accepted) noexcept;
  // Another step without a proposal: what is known grows old, so that it is tried again in time.
  void fade() noexcept;
  [[nodiscard]] double probability() const noexcept { return (kPriorRight + right_) / (kPriorTried + tried_); }

 private:
  static constexpr double kPriorRight = 0.6, kPriorTried = 1;

  double right_ = 0, tried_ = 0;
};

// A linear model of a step's time by its rows: seconds = base + rows · row, by least squares over the last steps.
class StepCost {
 public:
  void add(int64_t rows, double seconds) noexcept;
  // Another step of another kind: what is known grows old, and is forgotten in time.
  void fade() noexcept;
  [[nodiscard]] bool known() const noexcept { return weight_ > kForgotten; }
  [[nodiscard]] double row_seconds() const noexcept;
  [[nodiscard]] double seconds(int64_t rows) const noexcept;

 private:
  static constexpr double kForgotten = 0.5;

  void age(double factor) noexcept;

  double weight_ = 0, rows_ = 0, rows_squared_ = 0, seconds_ = 0, product_ = 0;
};

// Proposed tokens of one sequence, and the probability of each given those before it.
struct Proposal {
  double probability = 0;
  int64_t most = 0;
  // Rows of the step before the proposed ones that are computed again, with the right ones among these, if a proposed token is wrong.
  int64_t taken_back = 0;
};

// A step without proposals.
struct PlainStep {
  int64_t rows = 0;
  int64_t tokens = 0;    // rows that choose one
  int64_t recorded = 0;  // LanguageModel::recorded_rows
};

// The same with so many proposed tokens of each sequence.
struct ProposedStep {
  std::vector<int64_t> lengths;
  double tokens = 0;   // that it is expected to yield
  double seconds = 0;  // that it takes
  [[nodiscard]] bool proposes() const noexcept;
};

// How many tokens each should propose so that the step yields the most tokens a second: one more pays while its chance of being right,
// over what its row takes (`proposing_seconds` more for a model that drafts it, and the rows that it has computed again if it is the first
// wrong one, by the chance of that), is more than the step's tokens over its time. A step that could be a recorded one stays so, and fills
// the rows that the recording has. All zero where the cost is not known.
[[nodiscard]] ProposedStep choose_lengths(std::span<const Proposal> proposals, const StepCost& cost, const PlainStep& plain,
                                          double proposing_seconds);

// Whether a step that proposes, and that the host waits for, yields more tokens a second than one of `rows` sequences that runs ahead of
// the host, of which `ahead` knows the cost.
[[nodiscard]] bool pays(const ProposedStep& step, const StepCost& ahead, int64_t rows) noexcept;

}  // namespace wick
