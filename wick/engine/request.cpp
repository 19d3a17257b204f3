#include "wick/engine/request.h"

#include <fmt/format.h>

#include <cmath>

#include "wick/engine/engine_options.h"
#include "wick/text/grammar/token_constraint.h"

namespace wick {
namespace {

// Four strings are OpenAI's limit; this one keeps a request from taking much time for each token.
constexpr int64_t kMaxLogprobs = 100;
constexpr size_t kMaxAdapters = 8;

class Violations {
 public:
  explicit Violations(std::vector<ParameterViolation> first) : list(std::move(first)) {}

  template <class T>
  void require(bool good, const char* parameter, const std::string& constraint, const T& value) {
    if (!good) list.push_back({parameter, constraint, fmt::to_string(value)});
  }
  void require_logprobs(const char* parameter, std::optional<int64_t> count) {
    if (count) require(*count >= 0 && *count <= kMaxLogprobs, parameter, fmt::format("must be from 0 to {}", kMaxLogprobs), *count);
  }

  std::vector<ParameterViolation> list;
};

}  // namespace

std::vector<ParameterViolation> find_violations(const Request& request, const EngineInfo& engine) {
  Violations violations(find_violations(request.params.sampling));
  const GenerationParams& params = request.params;
  violations.require(params.max_tokens >= 0, "max_tokens", "must be 0 or more", params.max_tokens);
  violations.require(params.stop.size() <= kMaxStopStrings, "stop", fmt::format("at most {} strings", kMaxStopStrings), params.stop.size());
  violations.require_logprobs("logprobs", params.logprobs);
  violations.require_logprobs("prompt_logprobs", request.prompt_logprobs);
  for (const LogitBias& entry : params.sampling.logit_bias) {
    violations.require(entry.token < engine.vocab_size, "logit_bias", fmt::format("tokens are below {}", engine.vocab_size), entry.token);
  }
  violations.require(params.adapters.size() <= kMaxAdapters, "adapters", fmt::format("at most {}", kMaxAdapters), params.adapters.size());
  for (const AdapterChoice& adapter : params.adapters) {
    violations.require(std::isfinite(adapter.scale.value_or(1)), "adapters", "scales must be finite", adapter.scale.value_or(1));
  }
  if (params.constraint != nullptr) {
    violations.require(params.constraint->vocab_size() <= engine.vocab_size, "constraint",
                       fmt::format("must be compiled for the model's vocabulary of {}", engine.vocab_size),
                       params.constraint->vocab_size());
  }
  violations.require(request.prompt.empty() || request.tokens.empty(), "tokens", "must be empty where a prompt is given",
                     request.tokens.size());
  violations.require(request.n >= 1 && request.n <= engine.sequences, "n", fmt::format("must be from 1 to {}", engine.sequences),
                     request.n);
  const bool is_best_good = request.best_of == 0 || (request.best_of >= request.n && request.best_of <= engine.sequences);
  violations.require(is_best_good, "best_of", fmt::format("must be 0, or from n to {}", engine.sequences), request.best_of);
  if (request.task == Request::Task::embed) {
    violations.require(request.choices() == 1, "n", "must be 1 for embeddings", request.n);
  }
  return violations.list;
}

}  // namespace wick
