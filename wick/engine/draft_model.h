// A DraftModel is a small model with the vocabulary of a large one, which proposes what that will probably choose.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "wick/model/language_model.h"

namespace wick {

class Sequence;

class DraftModel {
 public:
  // For so many sequences of `context` positions. Errors: invalid_argument for a model of another vocabulary or a shorter context, or one
  // that cannot take tokens back (recurrent layers); out_of_memory.
  DraftModel(LanguageModel& model, const ModelInfo& target, int64_t context, int64_t sequences);

  // The likeliest next `lengths[i]` tokens of each sequence. What fails to fit its cache is not proposed.
  [[nodiscard]] std::vector<std::vector<int32_t>> propose(std::span<Sequence* const> sequences, std::span<const int64_t> lengths);
  // Forgets a sequence.
  void release(Sequence& sequence);
  // Recent time per additional row, for one token of one sequence.
  [[nodiscard]] double seconds_per_token() const noexcept { return seconds_per_token_; }

 private:
  // Computes what the model has not seen of a sequence, but for its last token.
  void catch_up(Sequence& sequence);

  LanguageModel& model_;
  std::unique_ptr<KvPool> pool_;
  double seconds_per_token_ = 0;
};

}  // namespace wick
