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
  // For so many sequences of at most `context` positions; its cache has room for 1,024 of each, or for one whole context if that is more.
  // Its embedding may be padded to another size. Errors: invalid_argument for a model of another vocabulary or a shorter context;
  // unsupported for one that is no decoder; out_of_memory.
  DraftModel(LanguageModel& model, const ModelInfo& target, int64_t context, int64_t sequences);

  // The likeliest next `lengths[i]` tokens of each sequence. What fails to fit its cache is not proposed, and nothing for a text with
  // tokens that this model has not.
  [[nodiscard]] std::vector<std::vector<int32_t>> propose(std::span<Sequence* const> sequences, std::span<const int64_t> lengths);
  // Forgets a sequence.
  void release(Sequence& sequence);
  // Recent time per additional row, for one token of one sequence.
  [[nodiscard]] double seconds_per_token() const noexcept { return seconds_per_token_; }

 private:
  // Computes what the model has not seen of a sequence, but for its last token. Whether it could.
  [[nodiscard]] bool catch_up(Sequence& sequence);
  // The handle that proposed tokens of a sequence are computed in: its own, or a fork where a state could not take them back.
  [[nodiscard]] SequenceHandle handle_for(const Sequence& sequence);
  // One more token for each of `going`, in the handles of `sequences`. False where the cache is full.
  [[nodiscard]] bool propose_next(std::span<Sequence* const> sequences, std::span<const SequenceHandle> handles,
                                  std::span<const size_t> going, std::vector<std::vector<int32_t>>& proposed);

  LanguageModel& model_;
  int64_t vocab_size_;  // that both models have
  bool has_states_;
  std::unique_ptr<KvPool> pool_;
  std::vector<float> logits_;  // of a device that is not the host
  double seconds_per_token_ = 0;
};

}  // namespace wick
