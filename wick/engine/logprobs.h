// Log-probabilities of tokens by a model's logits.
#pragma once

#include <cstdint>
#include <span>

#include "wick/engine/generation.h"

namespace wick {

// The logprob of `token` and the `top` most likely tokens of a row of logits.
[[nodiscard]] GeneratedLogprob logprob_of(std::span<const float> logits, TokenId token, int64_t top);

// The same of the distribution that a token was drawn from.
[[nodiscard]] GeneratedLogprob logprob_of(const DrawnToken& drawn, int64_t top);

}  // namespace wick
