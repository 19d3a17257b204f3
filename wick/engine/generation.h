// Parameters and result of a text generation, and the reasons why it ends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/engine/sampling.h"
#include "wick/text/tokenizer/vocabulary.h"

namespace [[gnu::visibility("default")]] wick {

class TokenConstraint;

// An adapter that the model was given (Engine::add_adapter), by its name, and what its part of each product is multiplied by.
struct AdapterChoice {
  std::string name;
  std::optional<float> scale = {};  // none: what was said when it was added
};

inline constexpr size_t kMaxStopStrings = 64;

struct GenerationParams {
  SamplingParams sampling = {};
  // Adapters that the model computes this text with, all of them at once; none: the model by itself.
  std::vector<AdapterChoice> adapters = {};
  // The most tokens to generate. 0: none, the prompt is only read.
  int64_t max_tokens = 256;
  // The text ends before the first of them that it would contain: at most kMaxStopStrings. Empty ones are ignored, as clients send [""] for
  // none.
  std::vector<std::string> stop = {};
  // Tokens that end the text, with StopReason::stop_sequence; like an EOS, the token is reported and adds no text.
  std::vector<TokenId> stop_tokens = {};
  // The output format: a constraint at the beginning of its text (ConstraintCompiler::compile, Llm::constrain), of which each
  // generation takes a copy. The text ends where the constraint allows nothing more. None: any text.
  std::shared_ptr<const TokenConstraint> constraint = {};
  // Tokens that end a generation are tokens like any other; they add no text.
  bool ignore_eos = false;
  // Control tokens spelled out in the prompt are taken for those tokens.
  bool parse_special = false;
  // With a number, the log-probability of each token is kept, and those of so many most likely ones.
  std::optional<int64_t> logprobs = {};
  // These are of the distribution that the token was drawn from, after penalties, filters and temperature, in place of the model's own;
  // tokens that could not be drawn are left out.
  bool logprobs_after_sampling = false;
  // Asked before each token, and before each layer while the prompt is read, whether to stop; may be empty.
  std::function<bool()> is_cancelled = {};
};

// ln p of a token by the model's own distribution: the softmax of its logits before penalties, filters and temperature; or as
// GenerationParams::logprobs_after_sampling says.
struct TokenLogprob {
  TokenId token = 0;
  double logprob = 0;
};

struct GeneratedLogprob {
  TokenLogprob chosen;
  std::vector<TokenLogprob> top;  // the most likely tokens, by falling probability, then by token
};

// Why a generation ended. After each token they are checked in this order: end_of_sequence (also where a constraint allows nothing more),
// a stop token, max_tokens, stop_sequence; then whether
// the callback or is_cancelled stops it; then whether the context has room for another token.
// `deadline`: an Engine's request was not done in time.
enum class StopReason { end_of_sequence, max_tokens, stop_sequence, cancelled, context_full, deadline };
// The worker API's name: "EOS", "MAX_TOKENS", "STOP_SEQUENCE", "CANCELLED", "CONTEXT_FULL", "DEADLINE".
[[nodiscard]] std::string_view to_string(StopReason reason) noexcept;
// OpenAI's name: "stop" or "length"; "abort" for what was cancelled and "timeout" for the deadline, as vLLM has it.
[[nodiscard]] std::string_view finish_reason(StopReason reason) noexcept;

struct GenerationResult {
  std::string text;                             // everything that the callback was given
  std::vector<TokenId> tokens;                  // generated; one that ended the generation is the last
  std::vector<GeneratedLogprob> logprobs = {};  // one for each token, if asked for
  int64_t prompt_tokens = 0;                    // BOS counted
  StopReason stop_reason = StopReason::max_tokens;
  std::optional<std::string> stop_sequence_matched = {};
  uint64_t seed = 0;
  double prefill_seconds = 0;                     // from the request to the prompt's logits; 0 if it was cancelled before that
  double time_to_first_token = 0;                 // to the first token's choice
  double decode_seconds = 0;                      // from there to the end
  int64_t decode_steps = 0;                       // steps in decode_seconds: one for each token but the first, fewer with a draft model
  int64_t draft_tokens = 0, accepted_tokens = 0;  // proposed by a draft model; of these, right

  [[nodiscard]] double prefill_tokens_per_second() const noexcept;
  [[nodiscard]] double decode_tokens_per_second() const noexcept;  // 0 if there was no step
};

// Takes text as it is written: valid UTF-8, never empty. Returning false cancels.
using TextCallback = std::function<bool(std::string_view text)>;

}  // namespace wick
