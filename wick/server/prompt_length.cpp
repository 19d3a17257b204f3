#include "wick/server/prompt_length.h"

#include <algorithm>
#include <iterator>

#include "wick/base/fail.h"
#include "wick/server/generation_fields.h"

namespace wick::server {
namespace {

// No text has fewer tokens than its bytes divided by this: what is longer is refused before time and memory are spent on its tokens.
constexpr int64_t kMaxBytesOfToken = 1024;
constexpr int64_t kSurelyEncoded = 1 << 20;

}  // namespace

std::optional<ContextExcess> find_context_excess(const Engine& engine, Request& request, bool given) {
  const int64_t context = engine.info().context;
  if (std::ssize(request.prompt) > std::max(kSurelyEncoded, context * kMaxBytesOfToken)) {
    const std::string length = fmt::format("{} bytes", request.prompt.size());
    return ContextExcess{{"prompt", fmt::format("must be at most {} tokens, the model's context, and is {}", context, length), {}},
                         fmt::format("the prompt has {}, and the context of this model holds {} tokens", length, context)};
  }
  if (request.tokens.empty()) {
    request.tokens = engine.encode_prompt(request.prompt, request.params.parse_special);
    request.prompt.clear();
  }
  const auto length = std::ssize(request.tokens);
  const int64_t wanted = request.params.max_tokens;
  if (length > context) {
    return ContextExcess{{"prompt", fmt::format("must be at most {} tokens, the model's context, and is {}", context, length), {}},
                         fmt::format("the prompt has {} tokens, and the context of this model holds {}", length, context)};
  }
  if (!given || wanted >= kUnlimitedTokens || wanted <= context - length) return std::nullopt;
  return ContextExcess{
      {"max_tokens", fmt::format("must be at most {}: the prompt has {} of the context's {} tokens", context - length, length, context),
       std::to_string(wanted)},
      fmt::format(
          "the prompt has {} tokens and max_tokens is {}: together more than the context's {}; shorten the prompt or ask for at most "
          "{} tokens",
          length, wanted, context, context - length)};
}

bool fit_into_context(const Engine& engine, Request& request, bool given) {
  if (const std::optional<ContextExcess> excess = find_context_excess(engine, request, given)) {
    ApiError error(400, kContextLengthExceeded, excess->message);
    if (!request.tokens.empty()) error.exceeding(std::ssize(request.tokens), engine.info().context);
    throw error;
  }
  int64_t& wanted = request.params.max_tokens;
  const int64_t left = engine.info().context - std::ssize(request.tokens);
  const bool is_cut = wanted > left;
  wanted = std::min(wanted, left);
  return is_cut;
}

}  // namespace wick::server
