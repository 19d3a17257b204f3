// What the tests of sampling share: logits of given probabilities, and how often each token is drawn.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "wick/engine/sampling.h"

namespace wick {

inline std::vector<float> logits_of(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double probability : probabilities) logits.push_back(static_cast<float>(std::log(probability)));
  return logits;
}

// How often each token is chosen out of `draws`.
inline std::map<int32_t, int> draw(const SamplingParams& params, const std::vector<float>& logits, int draws = 4000) {
  Sampler sampler(params);
  std::map<int32_t, int> counts;
  for (int index = 0; index < draws; ++index) ++counts[sampler.sample(logits)];
  return counts;
}

}  // namespace wick
