#include "wick/engine/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "wick/base/fail.h"

namespace wick {
namespace {

void check_range(std::vector<ParameterViolation>& violations, const char* name, double value, double low, double high) {
  if (value >= low && value <= high) return;  // false for NaN
  violations.push_back({name, fmt::format("must be from {:g} to {:g}", low, high), fmt::format("{:g}", value)});
}

SamplingParams checked(const SamplingParams& params) {
  const std::vector<ParameterViolation> violations = find_violations(params);
  if (!violations.empty()) {
    const ParameterViolation& first = violations.front();
    fail(ErrorCode::invalid_argument, "{} {}: {}", first.parameter, first.value, first.constraint);
  }
  return params;
}

// The index of the highest logit, the first of equals.
size_t check_and_find_highest(std::span<const float> logits) {
  size_t best = 0;
  bool usable = true;
  for (size_t index = 0; index < logits.size(); ++index) {
    usable = usable && logits[index] <= std::numeric_limits<float>::max();  // neither NaN nor +infinity
    if (logits[index] > logits[best]) best = index;
  }
  if (!usable || logits[best] == -std::numeric_limits<float>::infinity()) {
    fail(ErrorCode::corrupt_file,
         "the model's logits are not numbers: its weights are damaged or its activations overflow; try --precise or another file");
  }
  return best;
}

void forbid_others(std::span<float> logits, std::span<const uint64_t> allowed) {
  for (size_t token = 0; token < logits.size(); ++token) {
    const bool is_allowed = token / 64 < allowed.size() && (allowed[token / 64] >> token % 64 & 1) != 0;
    if (!is_allowed) logits[token] = -std::numeric_limits<float>::infinity();
  }
}

}  // namespace

std::vector<ParameterViolation> find_violations(const SamplingParams& params) {
  std::vector<ParameterViolation> violations;
  check_range(violations, "temperature", params.temperature, 0, 2);
  if (params.top_k < 0) violations.push_back({"top_k", "must be 0 (all tokens) or more", fmt::to_string(params.top_k)});
  check_range(violations, "top_p", params.top_p, 0, 1);
  check_range(violations, "min_p", params.min_p, 0, 1);
  check_range(violations, "repetition_penalty", params.repetition_penalty, 0, 2);
  check_range(violations, "presence_penalty", params.presence_penalty, -2, 2);
  check_range(violations, "frequency_penalty", params.frequency_penalty, -2, 2);
  if (params.penalty_window < -1) {
    violations.push_back({"penalty_window", "must be -1 (all tokens), 0 (none) or more", fmt::to_string(params.penalty_window)});
  }
  for (const LogitBias& entry : params.logit_bias) {
    if (entry.token < 0) violations.push_back({"logit_bias", "must name tokens by their ids", fmt::to_string(entry.token)});
    check_range(violations, "logit_bias", entry.bias, -100, 100);
  }
  return violations;
}

uint64_t random_seed() { return std::random_device{}(); }

Sampler::Sampler(const SamplingParams& params)
    : params_(checked(params)), seed_(params.seed ? *params.seed : random_seed()), random_(seed_) {}

void Sampler::accept(int32_t token) {
  if (params_.penalty_window == 0 || !has_penalties()) return;
  window_.push_back(token);
  ++counts_[token];
  if (params_.penalty_window > 0 && window_.size() > static_cast<size_t>(params_.penalty_window)) {
    const auto oldest = counts_.find(window_.front());
    if (--oldest->second == 0) counts_.erase(oldest);
    window_.pop_front();
  }
}

bool Sampler::has_penalties() const noexcept {
  const bool repetition = params_.repetition_penalty != 1 && params_.repetition_penalty != 0;
  return repetition || params_.presence_penalty != 0 || params_.frequency_penalty != 0;
}

void Sampler::apply_penalties(std::span<float> logits) const {
  for (const LogitBias& entry : params_.logit_bias) {
    if (static_cast<size_t>(entry.token) < logits.size()) logits[static_cast<size_t>(entry.token)] += entry.bias;
  }
  const float repetition = params_.repetition_penalty == 0 ? 1 : params_.repetition_penalty;
  for (const auto& [token, count] : counts_) {
    if (token < 0 || static_cast<size_t>(token) >= logits.size()) continue;
    float& logit = logits[static_cast<size_t>(token)];
    logit = logit > 0 ? logit / repetition : logit * repetition;
    logit -= params_.presence_penalty + params_.frequency_penalty * static_cast<float>(count);
  }
}

int32_t Sampler::sample(std::span<const float> logits, std::span<const uint64_t> allowed) {
  if (logits.empty()) fail(ErrorCode::invalid_argument, "sample: no logits; give one for each token of the vocabulary");
  size_t highest = check_and_find_highest(logits);
  if (!counts_.empty() || !params_.logit_bias.empty() || !allowed.empty()) {
    adjusted_.assign(logits.begin(), logits.end());
    apply_penalties(adjusted_);
    if (!allowed.empty()) forbid_others(adjusted_, allowed);
    logits = adjusted_;
    highest = check_and_find_highest(logits);
  }
  if (params_.temperature == 0) return static_cast<int32_t>(highest);

  candidates_.clear();
  const float never = -std::numeric_limits<float>::infinity();
  for (size_t index = 0; index < logits.size(); ++index) {
    if (logits[index] != never) candidates_.push_back({static_cast<int32_t>(index), logits[index]});
  }
  filter();
  return draw();
}

void Sampler::filter() {
  const auto better = [](const Candidate& lhs, const Candidate& rhs) {
    return lhs.logit != rhs.logit ? lhs.logit > rhs.logit : lhs.token < rhs.token;
  };
  size_t kept = candidates_.size();
  if (params_.top_k > 0) kept = std::min(kept, static_cast<size_t>(params_.top_k));
  std::partial_sort(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(kept), candidates_.end(), better);
  candidates_.resize(kept);

  const double highest = candidates_.front().logit;
  weights_.clear();
  double sum = 0;
  for (const Candidate& candidate : candidates_) {
    weights_.push_back(std::exp(candidate.logit - highest));
    sum += weights_.back();
  }
  if (params_.top_p < 1) {
    double reached = 0;
    for (size_t index = 0; index < kept; ++index) {
      reached += weights_[index];
      if (reached >= static_cast<double>(params_.top_p) * sum) {
        kept = index + 1;
        break;
      }
    }
  }
  // The most likely token has weight 1 and always stays.
  while (kept > 1 && weights_[kept - 1] < static_cast<double>(params_.min_p)) --kept;
  candidates_.resize(kept);
}

int32_t Sampler::draw() {
  const double highest = candidates_.front().logit;
  double sum = 0;
  weights_.clear();
  for (const Candidate& candidate : candidates_) {
    weights_.push_back(std::exp((candidate.logit - highest) / static_cast<double>(params_.temperature)));
    sum += weights_.back();
  }
  // 53 random bits are a double in [0, 1). The inverse of the cumulative distribution turns it into a token.
  double left = static_cast<double>(random_() >> 11) * 0x1p-53 * sum;
  for (size_t index = 0; index + 1 < candidates_.size(); ++index) {
    left -= weights_[index];
    if (left < 0) return candidates_[index].token;
  }
  return candidates_.back().token;
}

}  // namespace wick
