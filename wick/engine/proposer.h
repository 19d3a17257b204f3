// A Proposer decides which tokens a step checks ahead of the model: from the text itself or a draft model's, and as many as pay.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "wick/engine/draft_model.h"
#include "wick/engine/engine_options.h"
#include "wick/engine/scheduler.h"
#include "wick/engine/speculation.h"
#include "wick/model/language_model.h"

namespace wick {

class Proposer {
 public:
  // `draft` may be none.
  Proposer(const SpeculationOptions& options, std::unique_ptr<DraftModel> draft) : options_(options), draft_(std::move(draft)) {}

  // Proposes for a model from now on, whose sequences have at most `context` positions.
  void take(const LanguageModel& model, int64_t context);

  // Adds proposed tokens to the rows of sequences that decode. `recorded_rows`: LanguageModel::recorded_rows. Returns the seconds that the
  // draft model took.
  double propose(std::vector<SequenceRows>& step, int64_t recorded_rows);
  // Whether a step that the host waits for, with proposals, is better than this one, which would run ahead of the host.
  [[nodiscard]] bool would_propose(const std::vector<SequenceRows>& step, int64_t recorded_rows);
  // Adds the time of a step that the host waited for; of one that ran ahead of it.
  void add_cost(int64_t rows, double seconds) noexcept;
  void add_ahead_cost(int64_t rows, double seconds) noexcept;
  // Lets the draft model forget a sequence.
  void release(Sequence& sequence);

 private:
  // Rows that the cost per row is measured with: larger batches are bound by arithmetic, and another row costs more there.
  static constexpr int64_t kMaxCostRows = 64;

  // The most tokens to propose for these rows, with so many tokens of their sequence under way that the host has not read.
  [[nodiscard]] int64_t most_proposed(const SequenceRows& rows, int64_t under_way) const;
  // Proposal::taken_back of these rows.
  [[nodiscard]] int64_t taken_back(const SequenceRows& rows) const noexcept { return has_states_ ? rows.count : 0; }
  // The cost of steps that the host waits for, as far as it is known.
  [[nodiscard]] const StepCost& proposing_cost() const noexcept { return cost_.known() ? cost_ : ahead_cost_; }

  SpeculationOptions options_;
  std::unique_ptr<DraftModel> draft_;
  bool enabled_ = false;
  bool has_states_ = false;  // which cannot take back a token: a wrong one has the tokens of its step computed again
  int64_t context_ = 0;
  StepCost cost_;        // of steps that the host waits for
  StepCost ahead_cost_;  // of those that run ahead of it
};

}  // namespace wick
