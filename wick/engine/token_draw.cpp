#include "wick/engine/token_draw.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace wick {
namespace {

// So far below the largest logit a weight is 0: e^-19 · 2^26 < 1/2.
constexpr float kWeightReach = 19;
// Up to so many the largest are found by a heap, without a copy of all.
constexpr size_t kMaxInHeap = 512;

}  // namespace

float TokenDraw::at_place(std::span<const float> logits, size_t k) {
  if (k > kMaxInHeap) {
    order_.assign(logits.begin(), logits.end());
    const auto last = order_.begin() + static_cast<std::ptrdiff_t>(k - 1);
    std::nth_element(order_.begin(), last, order_.end(), std::greater());
    return *last;
  }
  order_.assign(logits.begin(), logits.begin() + static_cast<std::ptrdiff_t>(k));
  std::make_heap(order_.begin(), order_.end(), std::greater());
  for (const float logit : logits.subspan(k)) {
    if (logit <= order_.front()) continue;
    std::pop_heap(order_.begin(), order_.end(), std::greater());
    order_.back() = logit;
    std::push_heap(order_.begin(), order_.end(), std::greater());
  }
  return order_.front();
}

float TokenDraw::nucleus(float largest, float top_p) {
  order_.clear();
  uint64_t sum = 0;
  for (const Kept& kept : kept_) {
    const uint32_t weight = sample_weight(kept.logit - largest);
    if (weight == 0) continue;
    sum += weight;
    order_.push_back(kept.logit);
  }
  std::sort(order_.begin(), order_.end(), std::greater());
  const uint64_t wanted = sample_share(sum, static_cast<uint64_t>(top_p * 0x1p24F), 24);
  uint64_t reached = 0;
  for (const float logit : order_) {
    reached += sample_weight(logit - largest);
    if (reached >= wanted) return logit;
  }
  return order_.back();
}

int32_t TokenDraw::operator()(std::span<const float> logits, size_t best, const SampleSettings& settings) {
  const float largest = logits[best];
  if (settings.inverse_temperature == 0) return static_cast<int32_t>(best);
  float least = std::numeric_limits<float>::lowest();
  if (settings.top_k > 0 && settings.top_k < static_cast<int64_t>(logits.size())) {
    least = std::max(least, at_place(logits, static_cast<size_t>(settings.top_k)));
  }
  // Below that neither the weight in the model's distribution nor the one to draw with is above 0.
  const float reach = std::max(least, largest - kWeightReach * std::max(1.0F, 1 / settings.inverse_temperature));
  kept_.clear();
  for (size_t token = 0; token < logits.size(); ++token) {
    if (logits[token] >= reach) kept_.push_back({static_cast<int32_t>(token), logits[token], 0});
  }
  if (settings.top_p < 1) least = std::max(least, nucleus(largest, settings.top_p));
  const auto least_weight = static_cast<uint32_t>(settings.min_p * 0x1p26F);
  const auto weight_of = [&](float logit) -> uint32_t {
    const bool stays = logit >= least && sample_weight(logit - largest) >= least_weight;
    return stays ? sample_weight((logit - largest) * settings.inverse_temperature) : 0;
  };
  uint64_t sum = 0;
  for (Kept& kept : kept_) sum += kept.weight = weight_of(kept.logit);
  const uint64_t target = sample_share(sum, stream_block(settings.seed, settings.number)[0], 32);
  uint64_t reached = 0;
  for (const Kept& kept : kept_) {
    reached += kept.weight;
    if (reached > target) return kept.token;
  }
  return static_cast<int32_t>(best);
}

std::vector<TokenProbability> TokenDraw::distribution() const {
  uint64_t sum = 0;
  for (const Kept& kept : kept_) sum += kept.weight;
  std::vector<TokenProbability> result;
  for (const Kept& kept : kept_) {
    if (kept.weight > 0) result.push_back({kept.token, static_cast<double>(kept.weight) / static_cast<double>(sum)});
  }
  return result;
}

}  // namespace wick
