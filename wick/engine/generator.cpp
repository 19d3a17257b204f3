#include "wick/engine/generator.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "wick/base/fail.h"
#include "wick/engine/engine.h"
#include "wick/engine/prompt.h"

namespace wick {
namespace {

// Collects what comes of a request, and tells the callback of it.
class Collector {
 public:
  Collector(const TextCallback& on_text, double seconds_before) : on_text_(on_text), seconds_before_(seconds_before) {}

  // Whether the callback wants no more.
  [[nodiscard]] bool refused() const noexcept { return refused_; }
  GenerationResult result;

  void operator()(ProgressEvent&) {}
  void operator()(PromptEvent& event) {
    result.prompt_tokens = event.usage.prompt_tokens;
    prompted_ = true;
  }
  void operator()(TokenEvent& event) {
    if (refused_) return;
    result.tokens.push_back(event.token);
    if (event.logprob) result.logprobs.push_back(std::move(*event.logprob));
    say(event.text);
  }
  void operator()(FinishEvent& event) {
    say(event.text);
    result.prompt_tokens = event.usage.prompt_tokens;
    result.stop_reason = event.reason;
    result.stop_sequence_matched = std::move(event.stop_sequence_matched);
    result.seed = event.seed;
    const Timings& timings = event.timings;
    if (prompted_) result.prefill_seconds = seconds_before_ + timings.queued + timings.prefill;
    if (event.usage.completion_tokens > 0) result.time_to_first_token = seconds_before_ + timings.time_to_first_token;
    result.decode_seconds = timings.decode;
    result.decode_steps = timings.decode_steps;
    result.draft_tokens = event.usage.draft_tokens;
    result.accepted_tokens = event.usage.accepted_tokens;
  }
  void operator()(ErrorEvent& event) { throw event.error(); }

 private:
  void say(const std::string& text) {
    if (text.empty() || refused_) return;
    result.text += text;
    if (on_text_ && !on_text_(text)) refused_ = true;
  }

  const TextCallback& on_text_;
  double seconds_before_;
  bool refused_ = false, prompted_ = false;
};

}  // namespace

std::string_view to_string(StopReason reason) noexcept {
  switch (reason) {
    case StopReason::end_of_sequence: return "EOS";
    case StopReason::max_tokens: return "MAX_TOKENS";
    case StopReason::stop_sequence: return "STOP_SEQUENCE";
    case StopReason::cancelled: return "CANCELLED";
    case StopReason::context_full: return "CONTEXT_FULL";
    case StopReason::deadline: return "DEADLINE";
  }
  return "";
}

std::string_view finish_reason(StopReason reason) noexcept {
  switch (reason) {
    case StopReason::end_of_sequence:
    case StopReason::stop_sequence: return "stop";
    case StopReason::max_tokens:
    case StopReason::context_full: return "length";
    case StopReason::cancelled: return "abort";
    case StopReason::deadline: return "timeout";
  }
  return "";
}

double GenerationResult::prefill_tokens_per_second() const noexcept {
  return prefill_seconds > 0 ? static_cast<double>(prompt_tokens) / prefill_seconds : 0;
}

double GenerationResult::decode_tokens_per_second() const noexcept {
  // A step with a draft model brings several tokens.
  return decode_seconds > 0 && decode_steps > 0 ? static_cast<double>(std::ssize(tokens) - 1) / decode_seconds : 0;
}

Generator::Generator(LanguageModel& model, std::shared_ptr<const Tokenizer> tokenizer, int64_t context, LanguageModel* draft,
                     int64_t draft_tokens)
    : model_(model), tokenizer_(std::move(tokenizer)), context_(context), draft_(draft), draft_tokens_(draft_tokens) {
  const ModelInfo& info = model.info();
  if (context < 1 || context > info.context_length) {
    fail(ErrorCode::invalid_argument, "context {}: must be from 1 to {}, for which {} was made", context, info.longest(), info.name);
  }
  if (tokenizer_ == nullptr) fail(ErrorCode::invalid_argument, "Generator: no tokenizer; load one beside {}", info.name);
  check_vocabulary(info, *tokenizer_);
}

Generator::~Generator() = default;

void Generator::prepare_engine(int64_t prompt_tokens, int64_t max_tokens) {
  if (prompt_tokens > context_) fail_prompt_too_long(prompt_tokens, context_, model_.info().context_length);
  const int64_t wanted = max_tokens < context_ - prompt_tokens ? prompt_tokens + max_tokens : context_;
  if (engine_ != nullptr && engine_->accepts() && engine_->info().context >= wanted) return;
  engine_.reset();
  // Requests of about the same length share a cache.
  constexpr int64_t kGrain = 256;
  engine_ = std::make_unique<Engine>(model_, tokenizer_,
                                     EngineOptions{.context = std::min(context_, (wanted + kGrain - 1) / kGrain * kGrain),
                                                   .sequences = 1,
                                                   .queue = 1,
                                                   .prefix_cache = false,
                                                   .speculation = {.ngram = false, .most = draft_tokens_}},
                                     draft_);
}

std::vector<TokenId> Generator::encode_prompt(std::string_view prompt, bool parse_special) const {
  const ModelInfo& info = model_.info();
  return (info.source_length > 0 ? encode_embedded : ::wick::encode_prompt)(*tokenizer_, info.name, prompt, parse_special);
}

GenerationResult Generator::generate(std::string_view prompt, const GenerationParams& params, const TextCallback& on_text) {
  const auto start = std::chrono::steady_clock::now();
  if (params.max_tokens < 0) fail(ErrorCode::invalid_argument, "max_tokens {}: must be 0 or more", params.max_tokens);
  std::vector<TokenId> tokens = encode_prompt(prompt, params.parse_special);
  prepare_engine(std::ssize(tokens) + std::ssize(model_.info().target_start), params.max_tokens);
  Collector collector(on_text, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  Stream stream = engine_->submit({.tokens = std::move(tokens), .params = params});
  while (!stream.ended()) {
    (void)engine_->step();
    while (std::optional<StreamEvent> event = stream.poll()) std::visit(collector, *event);
    if (collector.refused()) stream.cancel();
  }
  return std::move(collector.result);
}

}  // namespace wick
