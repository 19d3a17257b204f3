// Log-probabilities of tokens, as OpenAI's two APIs and llama.cpp write them.
#pragma once

#include <span>

#include "wick/engine/generation.h"
#include "wick/server/json.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick::server {

// Chat: {"token", "logprob", "bytes", "top_logprobs"} of one token.
[[nodiscard]] Json chat_logprob(const Tokenizer& tokenizer, const GeneratedLogprob& value);
// Completions: {"tokens", "token_logprobs", "top_logprobs", "text_offset"}; offsets count characters from `first_offset`.
[[nodiscard]] Json completion_logprobs(const Tokenizer& tokenizer, std::span<const GeneratedLogprob> values, int64_t first_offset);

}  // namespace wick::server
