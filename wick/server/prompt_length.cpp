#include "wick/server/prompt_length.h"

#include <algorithm>
#include <iterator>

#include "wick/base/fail.h"
#include "wick/server/generation_fields.h"

namespace wick::server {
bool fit_into_context(const Engine& engine, Request& request, bool given) {
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
  const bool is_cut = wanted > context - length;
  wanted = std::min(wanted, context - length);
  return is_cut;
}

}  // namespace wick::server
