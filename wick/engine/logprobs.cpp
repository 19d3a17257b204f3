#include "wick/engine/logprobs.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <vector>

namespace wick {

GeneratedLogprob logprob_of(std::span<const float> logits, TokenId token, int64_t top) {
  const double highest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - highest);
  const double log_sum = highest + std::log(sum);
  const auto entry = [&](TokenId id) { return TokenLogprob{id, logits[static_cast<size_t>(id)] - log_sum}; };
  GeneratedLogprob result{.chosen = entry(token), .top = {}};
  if (top <= 0) return result;
  std::vector<TokenId> ids(logits.size());
  std::iota(ids.begin(), ids.end(), TokenId{0});
  const auto count = std::min<std::ptrdiff_t>(top, std::ssize(ids));
  std::partial_sort(ids.begin(), ids.begin() + count, ids.end(), [&](TokenId left, TokenId right) {
    const float a = logits[static_cast<size_t>(left)];
    const float b = logits[static_cast<size_t>(right)];
    return a != b ? a > b : left < right;
  });
  for (auto id = ids.begin(); id != ids.begin() + count; ++id) result.top.push_back(entry(*id));
  return result;
}

GeneratedLogprob logprob_of(const DrawnToken& drawn, int64_t top) {
  GeneratedLogprob result{.chosen = {drawn.token, 0}, .top = {}};
  for (const TokenProbability& each : drawn.distribution) {
    const TokenLogprob entry{each.token, std::log(each.probability)};
    if (each.token == drawn.token) result.chosen = entry;
    if (std::ssize(result.top) < top) result.top.push_back(entry);
  }
  return result;
}

}  // namespace wick
