// A Request to an Engine: a prompt, how to continue it, and its deadline.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wick/engine/generation.h"
#include "wick/engine/prompt.h"

namespace wick {

struct EngineInfo;

struct Request {
  enum class Task {
    generate,  // continue the prompt
    embed,     // the prompt's vector (model/pooling.h); the prompt must fit in one step (EngineInfo::embed_tokens)
  };
  Task task = Task::generate;

  // The prompt: a text, or its tokens as they are (no BOS is added to these). Exactly one of the two may be given; an empty text is BOS.
  std::string prompt = {};
  std::vector<TokenId> tokens = {};
  // The first token of a pair's second text within `tokens`, for Task::embed. 0: there is one text.
  int64_t second = 0;
  // The end that Task::embed leaves out of a text that is too long.
  Truncation truncation = Truncation::none;

  // Each choice follows a copy of its own of `params.constraint`. `params.is_cancelled` is called on the engine's thread, before each step
  // and inside of long ones: it must return at once.
  GenerationParams params = {};

  // Choices to return. They share the prompt's blocks of the cache. Choice i samples with seed + i.
  int64_t n = 1;
  // Choices to compute, of which the n with the highest mean logprob are returned, best first, once all have ended. 0: n.
  int64_t best_of = 0;

  // A higher number goes first and may preempt a lower one; a waiting request gains one for every EngineOptions::aging of waiting.
  int32_t priority = 0;
  // Requests of equal priority take turns by user, so that one with many requests does not keep the others waiting. Any text, or none.
  std::string user = {};
  // When the answer is of no use any more: a request that has not ended by then ends with StopReason::deadline and what it has.
  std::optional<std::chrono::steady_clock::time_point> deadline = {};

  // The prompt's text is told too (PromptEvent), as the first text of each choice.
  bool echo = false;
  // With a number, the logprob of each token of the prompt but the first, and those of so many most likely ones there (PromptEvent). The
  // prompt is then computed as a whole, whatever is cached of it.
  std::optional<int64_t> prompt_logprobs = {};

  // Events tell how far the prompt is computed (ProgressEvent): when it begins, and after each step until it is done.
  bool report_progress = false;

  // Where false, nothing cached is used for this prompt, and nobody finds what it leaves.
  bool cache_prompt = true;
  // Only requests of the same salt share cached prefixes. Any text, or none.
  std::string cache_salt = {};

  [[nodiscard]] int64_t choices() const noexcept { return best_of > 0 ? best_of : n; }
};

// Everything about the request that is wrong whatever its prompt; empty if it is good. Parameters are called as the members are: "n",
// "temperature".
[[nodiscard]] std::vector<ParameterViolation> find_violations(const Request& request, const EngineInfo& engine);

}  // namespace wick
