#include "wick/engine/generator.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "wick/base/fail.h"
#include "wick/engine/stop_strings.h"
#include "wick/text/streaming_detokenizer.h"
#include "wick/text/unicode.h"

namespace wick {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// One request under way: what has been chosen, and what of it has been said.
class Continuation {
 public:
  Continuation(const GenerationParams& params, const std::shared_ptr<const Tokenizer>& tokenizer, bool follows_text,
               const TextCallback& on_text)
      : params_(params), tokenizer_(*tokenizer), detokenizer_(tokenizer, follows_text), stop_strings_(params.stop), on_text_(on_text) {}

  // Takes the next token; the reason to stop, if that is one.
  std::optional<StopReason> add(TokenId token) {
    result.tokens.push_back(token);
    if (!params_.ignore_eos && tokenizer_.ends_generation(token)) return finish(StopReason::end_of_sequence);
    say(stop_strings_.push(detokenizer_.push(token)));
    if (static_cast<int64_t>(result.tokens.size()) >= params_.max_tokens) return finish(StopReason::max_tokens);
    if (stop_strings_.matched()) return finish(StopReason::stop_sequence);
    if (cancelled_) return finish(StopReason::cancelled);
    return std::nullopt;
  }

  // Says what was held back, since no more will come.
  StopReason finish(StopReason reason) {
    if (!cancelled_ && !stop_strings_.matched()) say(stop_strings_.push(detokenizer_.finish()));
    if (!cancelled_ && !stop_strings_.matched()) say(stop_strings_.finish());
    if (reason == StopReason::stop_sequence) result.stop_sequence_matched = stop_strings_.matched();
    return result.stop_reason = reason;
  }

  GenerationResult result;

 private:
  void say(const std::string& text) {
    if (text.empty() || cancelled_) return;
    result.text += text;
    if (on_text_ && !on_text_(text)) cancelled_ = true;
  }

  const GenerationParams& params_;
  const Tokenizer& tokenizer_;
  StreamingDetokenizer detokenizer_;
  StopStrings stop_strings_;
  const TextCallback& on_text_;
  bool cancelled_ = false;
};

}  // namespace

void check_prompt(std::string_view prompt, std::string_view name) {
  for (size_t at = 0; at < prompt.size();) {
    const DecodedCharacter character = decode_character(prompt, at);
    if (!character.valid) {
      fail(ErrorCode::invalid_argument, "{}: byte {} (0x{:02x}) is not valid UTF-8; write the prompt in UTF-8", name, at,
           static_cast<unsigned char>(prompt[at]));
    }
    at += character.length;
  }
}

GeneratedLogprob logprob_of(std::span<const float> logits, TokenId token, int64_t top) {
  const double highest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - highest);
  const double log_sum = highest + std::log(sum);
  const auto entry = [&](TokenId id) { return TokenLogprob{id, logits[static_cast<size_t>(id)] - log_sum}; };
  GeneratedLogprob result{.chosen = entry(token), .top = {}};
  if (top <= 0) return result;
  std::vector<TokenId> ids(logits.size());
  std::iota(ids.begin(), ids.end(), TokenId{0});
  const auto count = std::min<std::ptrdiff_t>(top, std::ssize(ids));
  std::partial_sort(ids.begin(), ids.begin() + count, ids.end(), [&](TokenId left, TokenId right) {
    const float a = logits[static_cast<size_t>(left)];
    const float b = logits[static_cast<size_t>(right)];
    return a != b ? a > b : left < right;
  });
  for (auto id = ids.begin(); id != ids.begin() + count; ++id) result.top.push_back(entry(*id));
  return result;
}

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

double GenerationResult::prefill_tokens_per_second() const noexcept {
  return prefill_seconds > 0 ? static_cast<double>(prompt_tokens) / prefill_seconds : 0;
}

double GenerationResult::decode_tokens_per_second() const noexcept {
  return decode_seconds > 0 ? static_cast<double>(decode_steps) / decode_seconds : 0;
}

void check_vocabulary(const ModelInfo& model, const Tokenizer& tokenizer) {
  if (tokenizer.vocab_size() <= model.vocab_size) return;
  fail(ErrorCode::invalid_argument, "{}: the tokenizer has {} tokens and the model's embedding {} rows; they belong to different models",
       model.name, tokenizer.vocab_size(), model.vocab_size);
}

Generator::Generator(LanguageModel& model, std::shared_ptr<const Tokenizer> tokenizer, int64_t context)
    : model_(model), tokenizer_(std::move(tokenizer)), context_(context) {
  const ModelInfo& info = model.info();
  if (context < 1 || context > info.context_length) {
    fail(ErrorCode::invalid_argument, "context {}: must be from 1 to {}, for which {} was made", context, info.context_length, info.name);
  }
  if (tokenizer_ == nullptr) fail(ErrorCode::invalid_argument, "Generator: no tokenizer; load one beside {}", info.name);
  check_vocabulary(info, *tokenizer_);
}

void Generator::prepare_cache(int64_t prompt_tokens, int64_t max_tokens) {
  if (prompt_tokens > context_) {
    const bool can_grow = context_ < model_.info().context_length;
    fail(ErrorCode::context_full, "the prompt has {} tokens and the context holds {}; shorten the prompt{}", prompt_tokens, context_,
         can_grow ? fmt::format(" or give --context, up to {}", model_.info().context_length) : " or take a model with a longer context");
  }
  const int64_t wanted = max_tokens < context_ - prompt_tokens ? prompt_tokens + max_tokens : context_;
  if (cache_ != nullptr && cache_->capacity() >= wanted) {
    cache_->truncate(0);
    return;
  }
  cache_.reset();
  // Requests of about the same length share a cache.
  constexpr int64_t kGrain = 256;
  cache_ = model_.new_sequence(std::min(context_, (wanted + kGrain - 1) / kGrain * kGrain));
}

std::vector<TokenId> Generator::encode_prompt(std::string_view prompt, bool parse_special) const {
  check_prompt(prompt);
  // Only the BOS of the special tokens: an EOS behind the prompt would end the text that is to be continued.
  std::vector<TokenId> tokens = tokenizer_->encode(prompt, {.add_special = false, .parse_special = parse_special});
  const std::optional<TokenId> bos = tokenizer_->bos();
  if (tokens.empty()) {
    if (!bos)
      fail(ErrorCode::invalid_argument, "the prompt is empty and {} has no BOS token to begin with; give a prompt", model_.info().name);
    return {*bos};
  }
  const bool spelled_out = parse_special && bos && tokens.front() == *bos;
  if (tokenizer_->adds_bos() && bos && !spelled_out) tokens.insert(tokens.begin(), *bos);
  return tokens;
}

GenerationResult Generator::generate(std::string_view prompt, const GenerationParams& params, const TextCallback& on_text) {
  const Clock::time_point start = Clock::now();
  if (params.max_tokens < 0) fail(ErrorCode::invalid_argument, "max_tokens {}: must be 0 or more", params.max_tokens);
  Sampler sampler(params.sampling);
  Continuation continuation(params, tokenizer_, !prompt.empty(), on_text);
  GenerationResult& result = continuation.result;

  const std::vector<TokenId> tokens = encode_prompt(prompt, params.parse_special);
  result.prompt_tokens = static_cast<int64_t>(tokens.size());
  result.seed = sampler.seed();
  prepare_cache(result.prompt_tokens, params.max_tokens);
  for (const TokenId token : tokens) sampler.accept(token);
  const Tensor prompt_logits = model_.forward(tokens, *cache_, LogitRows::last, params.is_cancelled);
  if (!prompt_logits.defined()) {
    continuation.finish(StopReason::cancelled);
    return std::move(result);
  }
  std::vector<float> logits = prompt_logits.to_vector<float>();
  result.prefill_seconds = seconds_since(start);
  if (params.max_tokens == 0) {
    continuation.finish(StopReason::max_tokens);
    return std::move(result);
  }

  Clock::time_point first_token = Clock::now();
  for (;;) {
    if (params.is_cancelled && params.is_cancelled()) {
      continuation.finish(StopReason::cancelled);
      break;
    }
    const TokenId token = sampler.sample(logits);
    if (params.logprobs) result.logprobs.push_back(logprob_of(logits, token, *params.logprobs));
    if (result.tokens.empty()) {
      first_token = Clock::now();
      result.time_to_first_token = seconds_since(start);
    }
    if (continuation.add(token)) break;
    if (cache_->length() == context_) {
      continuation.finish(StopReason::context_full);
      break;
    }
    sampler.accept(token);
    const Clock::time_point step = Clock::now();
    logits = model_.forward(std::span(&token, 1), *cache_, LogitRows::last).to_vector<float>();
    ++result.decode_steps;
    // Half as long as decoding took: short texts, which it does not pay for, lose no more than that, and long ones have it done soon.
    if (!rearranged_) rearranged_ = model_.rearrange(seconds_since(step) / 2);
  }
  result.decode_seconds = seconds_since(first_token);
  return std::move(result);
}

}  // namespace wick
