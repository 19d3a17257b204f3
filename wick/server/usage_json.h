// Token usage of a request, in OpenAI's format, and the progress of its prompt, in llama-server's.
#pragma once

#include <vector>

#include "wick/server/answer.h"
#include "wick/server/json.h"

namespace wick::server {

// {"prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details"} of all choices together.
[[nodiscard]] inline Json usage_json(const std::vector<Choice>& choices) {
  int64_t completion = 0;
  for (const Choice& choice : choices) completion += choice.finish.usage.completion_tokens;
  const Usage& first = choices.front().finish.usage;
  return {{"prompt_tokens", first.prompt_tokens},
          {"completion_tokens", completion},
          {"total_tokens", first.prompt_tokens + completion},
          {"prompt_tokens_details", {{"cached_tokens", first.cached_tokens}}}};
}

// {"total", "cache", "processed", "time_ms"}: the processed tokens include those of the cache.
[[nodiscard]] inline Json progress_json(const ProgressEvent& event) {
  return {{"total", event.prompt_tokens},
          {"cache", event.cached_tokens},
          {"processed", event.computed_tokens},
          {"time_ms", static_cast<int64_t>(event.seconds * 1000)}};
}

}  // namespace wick::server
