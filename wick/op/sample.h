// How a token is drawn from logits: one definition for the host and every device, in whole numbers, so that all choose the same token.
//
// A row of logits l has settings (1 / temperature, top_k, top_p, min_p) and a draw (seed, number). m is the largest logit.
// - A row with NaN or +infinity, or with -infinity alone, gives -1.
// - 1 / temperature = 0: the first token with the largest logit.
// - weight(x) ≈ 2^26 · e^x for x ≤ 0 (in f32), below, and w = weight(l - m). Only tokens stay
//     that are at least as likely as the one at place top_k by falling logit, if top_k > 0, and whose logit is more than -infinity;
//     of these the most likely ones whose w sum up to at least ⌊Σ w · ⌊top_p · 2^24⌋ / 2^24⌋, if top_p < 1, and those as likely as the last
//     of them; whose w is at least ⌊min_p · 2^26⌋.
// - With v = weight((l - m) · (1 / temperature)) over the tokens that stay, and u the first word of block `number` of the seed's Philox
//   stream (op/philox.h): the first token in the vocabulary's order up to which Σ v is more than ⌊Σ v · u / 2^32⌋.
// So filters see the model's own distribution, and temperature what they leave. Tokens that are less likely than the most likely one by
// more than 2^26 are never drawn. A vocabulary has at most 2^18 tokens, so that sums of the halves of weights stay below 2^32.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "wick/op/philox.h"

namespace wick {

inline constexpr int64_t kMaxSampledTokens = int64_t{1} << 18;
inline constexpr uint32_t kSampleWeightBits = 26;
// ln 2^k / k! · 2^32 for k = 1 … 9: the terms of 2^-t = 1 - t (c1 - t (c2 - …)).
inline constexpr std::array<uint32_t, 9> kSampleSeries = {2977044472, 1031764991, 238388332, 41309550, 5726720, 661577, 65510, 5676, 437};
inline constexpr uint32_t kLog2OfE = 3098164009;  // log2(e) · 2^31
// From here on e^-y has no bits left.
inline constexpr float kSampleReach = 31;

// ⌊2^26 · e^x⌋ but for an error of about 2^-5: for x ≤ 0, also -infinity.
[[nodiscard]] inline uint32_t sample_weight(float x) noexcept {
  const auto high = [](uint32_t a, uint32_t b) { return static_cast<uint32_t>((uint64_t{a} * b) >> 32); };
  const auto y = static_cast<uint32_t>(std::min(-x, kSampleReach) * 0x1p24F);
  const uint32_t exponent = high(y, kLog2OfE);  // of 2, 23 bits behind the point
  const uint32_t t = exponent << 9;
  uint32_t sum = kSampleSeries.back();
  for (size_t k = kSampleSeries.size() - 1; k-- > 0;) sum = kSampleSeries[k] - high(sum, t);
  const uint32_t shift = exponent >> 23;
  return shift > kSampleWeightBits ? 0 : ((0x80000000U - (high(sum, t) >> 1)) >> (31 - kSampleWeightBits)) >> shift;
}

// ⌊sum · share / 2^bits⌋ for a share below 2^bits, without the bits above 64 of the product.
[[nodiscard]] inline uint64_t sample_share(uint64_t sum, uint64_t share, unsigned bits) noexcept {
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  return (sum >> bits) * share + (((sum & mask) * share) >> bits);
}

struct SampleSettings {
  float inverse_temperature = 1;
  int64_t top_k = 0;
  float top_p = 1, min_p = 0;
  uint64_t seed = 0, number = 0;
};

// The token, or -1.
[[nodiscard]] inline int32_t sample_token(std::span<const float> logits, const SampleSettings& settings) {
  const float never = -std::numeric_limits<float>::infinity();
  size_t best = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] <= std::numeric_limits<float>::max())) return -1;
    if (logits[i] > logits[best]) best = i;
  }
  if (logits.empty() || logits[best] == never) return -1;
  if (settings.inverse_temperature == 0) return static_cast<int32_t>(best);
  const float largest = logits[best];
  // The logit that the last token to stay has.
  float least = std::numeric_limits<float>::lowest();
  std::vector<float> order;
  if (settings.top_k > 0 || settings.top_p < 1) order.assign(logits.begin(), logits.end());
  if (settings.top_k > 0 && settings.top_k < static_cast<int64_t>(logits.size())) {
    const auto last = order.begin() + settings.top_k - 1;
    std::nth_element(order.begin(), last, order.end(), std::greater());
    least = std::max(least, *last);
  }
  if (settings.top_p < 1) {
    // Those as likely as the last one stay, wherever nth_element put them.
    order.assign(logits.begin(), logits.end());
    std::erase_if(order, [&](float logit) { return logit < least || sample_weight(logit - largest) == 0; });
    std::sort(order.begin(), order.end(), std::greater());
    uint64_t sum = 0;
    for (const float logit : order) sum += sample_weight(logit - largest);
    const uint64_t wanted = sample_share(sum, static_cast<uint64_t>(settings.top_p * 0x1p24F), 24);
    uint64_t reached = 0;
    for (const float logit : order) {
      least = logit;
      reached += sample_weight(logit - largest);
      if (reached >= wanted) break;
    }
  }
  const auto least_weight = static_cast<uint32_t>(settings.min_p * 0x1p26F);
  const auto weight_of = [&](float logit) {
    const bool stays = logit >= least && sample_weight(logit - largest) >= least_weight;
    return stays ? sample_weight((logit - largest) * settings.inverse_temperature) : 0;
  };
  uint64_t sum = 0;
  for (const float logit : logits) sum += weight_of(logit);
  const uint64_t target = sample_share(sum, stream_block(settings.seed, settings.number)[0], 32);
  uint64_t reached = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    reached += weight_of(logits[i]);
    if (reached > target) return static_cast<int32_t>(i);
  }
  return static_cast<int32_t>(best);  // not reached: the most likely token has a weight
}

}  // namespace wick
