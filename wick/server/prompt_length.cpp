#include "wick/server/prompt_length.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "wick/base/fail.h"
#include "wick/engine/repetition.h"
#include "wick/server/generation_fields.h"

namespace wick::server {
namespace {

// Texts that no repetition reaches beyond, as llama.cpp has them.
void find_breakers(const Tokenizer& tokenizer, SamplingParams& sampling) {
  static const std::vector<std::string> kBreakers = {"\n", ":", "\"", "*"};
  if (sampling.dry_multiplier > 0) sampling.dry_breakers = tokens_with_any_of(tokenizer, kBreakers);
}

}  // namespace

void fit_into_context(const Engine& engine, Request& request, bool given) {
  find_breakers(engine.tokenizer(), request.params.sampling);
  const int64_t context = engine.info().context;
  if (request.tokens.empty()) {
    request.tokens = engine.encode_prompt(request.prompt, request.params.parse_special);
    request.prompt.clear();
  }
  const auto length = std::ssize(request.tokens);
  int64_t& wanted = request.params.max_tokens;
  if (length > context || (given && wanted < kUnlimitedTokens && wanted > context - length)) {
    throw ApiError(
        400, "CONTEXT_LENGTH_EXCEEDED",
        length > context
            ? fmt::format("the prompt has {} tokens, and the context of this model holds {}", length, context)
            : fmt::format("the prompt has {} tokens and max_tokens is {}: together more than the context's {}; shorten the prompt "
                          "or ask for at most {} tokens",
                          length, wanted, context, context - length));
  }
  wanted = std::min(wanted, context - length);
}

}  // namespace wick::server
