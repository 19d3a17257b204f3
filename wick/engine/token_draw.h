// TokenDraw draws a token on the host as op/sample.h defines it: the same one as the op `sample` draws on any device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "wick/engine/sampling.h"
#include "wick/op/sample.h"

namespace wick {

// sample_token() in fewer passes over the logits, with memory that is kept from draw to draw.
class TokenDraw {
 public:
  // `logits` are neither NaN nor +infinity, and `best` is the first place of the largest, which is above -infinity.
  [[nodiscard]] int32_t operator()(std::span<const float> logits, size_t best, const SampleSettings& settings);
  // The tokens that the last call could have drawn, in the vocabulary's order. Only after one whose temperature was above 0.
  [[nodiscard]] std::vector<TokenProbability> distribution() const;

 private:
  struct Kept {
    int32_t token;
    float logit;
    uint32_t weight;
  };
  // The logit at place k, from 1, by falling logit.
  [[nodiscard]] float at_place(std::span<const float> logits, size_t k);
  // The least logit that top_p lets stay, of those that are kept.
  [[nodiscard]] float nucleus(float largest, float top_p);

  std::vector<float> order_;
  std::vector<Kept> kept_;  // in the vocabulary's order
};

}  // namespace wick
