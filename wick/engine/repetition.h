// Repetition: what lowers the logits of tokens that would repeat the text: penalties by count, and DRY, which sees sequences.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "wick/engine/sampling.h"

namespace [[gnu::visibility("default")]] wick {
class Tokenizer;
}  // namespace wick

namespace wick {

// The window of the penalties, and what they do to logits.
class RepetitionPenalties {
 public:
  explicit RepetitionPenalties(const SamplingParams& params);

  void accept(int32_t token);
  [[nodiscard]] bool active() const noexcept { return !counts_.empty(); }
  void apply(std::span<float> logits) const;

 private:
  float repetition_;
  float presence_;
  float frequency_;
  int64_t window_size_;
  bool used_;
  std::deque<int32_t> window_;
  std::unordered_map<int32_t, int64_t> counts_;  // of the tokens in the window
};

// "Don't repeat yourself" (p-e-w, text-generation-webui #5677): a token that would continue a repetition of the last n tokens of the text,
// n >= allowed_length, loses multiplier · base^(n - allowed_length).
class DryPenalty {
 public:
  explicit DryPenalty(const SamplingParams& params);

  void accept(int32_t token);
  [[nodiscard]] bool active() const noexcept { return multiplier_ > 0 && text_.size() > 1; }
  void apply(std::span<float> logits) const;

 private:
  double multiplier_;
  double base_;
  int64_t allowed_length_;
  int64_t window_size_;
  std::unordered_set<int32_t> breakers_;
  std::vector<int32_t> text_;
};

// Those of llama.cpp: a line break, ':', '"' and '*'.
[[nodiscard]] std::vector<std::string> default_dry_breakers();
// The tokens whose text holds one of these: what SamplingParams::dry_breakers takes.
[[nodiscard]] std::vector<int32_t> tokens_with_any_of(const Tokenizer& tokenizer, std::span<const std::string> texts);

}  // namespace wick
