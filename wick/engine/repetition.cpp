#include "wick/engine/repetition.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "wick/text/tokenizer/tokenizer.h"

namespace wick {

RepetitionPenalties::RepetitionPenalties(const SamplingParams& params)
    : repetition_(params.repetition_penalty == 0 ? 1 : params.repetition_penalty),
      presence_(params.presence_penalty),
      frequency_(params.frequency_penalty),
      window_size_(params.penalty_window),
      used_(window_size_ != 0 && (repetition_ != 1 || presence_ != 0 || frequency_ != 0)) {}

void RepetitionPenalties::accept(int32_t token) {
  if (!used_) return;
  window_.push_back(token);
  ++counts_[token];
  if (window_size_ > 0 && window_.size() > static_cast<size_t>(window_size_)) {
    const auto oldest = counts_.find(window_.front());
    if (--oldest->second == 0) counts_.erase(oldest);
    window_.pop_front();
  }
}

void RepetitionPenalties::apply(std::span<float> logits) const {
  for (const auto& [token, count] : counts_) {
    if (token < 0 || static_cast<size_t>(token) >= logits.size()) continue;
    float& logit = logits[static_cast<size_t>(token)];
    logit = logit > 0 ? logit / repetition_ : logit * repetition_;
    logit -= presence_ + frequency_ * static_cast<float>(count);
  }
}

DryPenalty::DryPenalty(const SamplingParams& params)
    : multiplier_(params.dry_multiplier),
      base_(params.dry_base),
      allowed_length_(params.dry_allowed_length),
      window_size_(params.dry_window),
      breakers_(params.dry_breakers.begin(), params.dry_breakers.end()) {}

void DryPenalty::accept(int32_t token) {
  if (multiplier_ > 0) text_.push_back(token);
}

void DryPenalty::apply(std::span<float> logits) const {
  const size_t window = window_size_ < 0 ? text_.size() : std::min(text_.size(), static_cast<size_t>(window_size_));
  // The text from its end, up to the first breaker: a repetition does not reach beyond one.
  const auto at = [&](size_t index) { return text_[text_.size() - 1 - index]; };
  size_t longest = 0;
  while (longest < window && !breakers_.contains(at(longest))) ++longest;
  // matched[i]: how many tokens before position i, counted from the end, equal the last ones of the text (Gusfield's Z function).
  std::vector<size_t> matched(window, 0);
  std::unordered_map<int32_t, size_t> lengths;
  for (size_t index = 1, left = 0, right = 0; index < window; ++index) {
    size_t length = index < right ? std::min(right - index, matched[index - left]) : 0;
    while (index + length < window && at(length) == at(index + length)) ++length;
    matched[index] = length;
    if (index + length > right) {
      left = index;
      right = index + length;
    }
    const int32_t next = at(index - 1);
    if (length == 0 || breakers_.contains(next)) continue;
    size_t& known = lengths[next];
    known = std::max(known, std::min(length, longest));
  }
  for (const auto& [token, length] : lengths) {
    if (static_cast<int64_t>(length) < allowed_length_ || token < 0 || static_cast<size_t>(token) >= logits.size()) continue;
    const double penalty = multiplier_ * std::pow(base_, static_cast<double>(static_cast<int64_t>(length) - allowed_length_));
    float& logit = logits[static_cast<size_t>(token)];
    // A long repetition's penalty is beyond any number; the token is then as unlikely as one can be without being forbidden.
    constexpr double kLowest = std::numeric_limits<float>::lowest();
    if (logit != -std::numeric_limits<float>::infinity()) logit = static_cast<float>(std::max(kLowest, logit - penalty));
  }
}

std::vector<std::string> default_dry_breakers() { return {"\n", ":", "\"", "*"}; }

std::vector<int32_t> tokens_with_any_of(const Tokenizer& tokenizer, std::span<const std::string> texts) {
  std::vector<int32_t> result;
  for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string bytes = tokenizer.token_bytes(id);
    const bool found =
        std::any_of(texts.begin(), texts.end(), [&](const std::string& text) { return bytes.find(text) != std::string::npos; });
    if (found) result.push_back(id);
  }
  return result;
}

}  // namespace wick
