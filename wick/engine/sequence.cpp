#include "wick/engine/sequence.h"

#include <algorithm>
#include <utility>

#include "wick/engine/logprobs.h"

namespace wick {
namespace {

SamplingParams sampling_of(const ActiveRequest& request, int64_t choice) {
  SamplingParams params = request.request.params.sampling;
  params.seed = request.seed + static_cast<uint64_t>(choice);
  return params;
}

double seconds_between(std::optional<EngineClock::time_point> start, std::optional<EngineClock::time_point> end) {
  return start && end ? wick::seconds_between(*start, *end) : 0;
}

// All choices have ended: the best are told, as if there had been no others.
void tell_best(ActiveRequest& request) {
  std::vector<ActiveRequest::Ended>& ended = request.ended;
  std::stable_sort(ended.begin(), ended.end(), [](const auto& left, const auto& right) { return left.mean_logprob > right.mean_logprob; });
  ended.resize(static_cast<size_t>(request.request.n));
  for (size_t choice = 0; choice < ended.size(); ++choice) {
    for (StreamEvent& event : ended[choice].events) {
      const bool is_last = choice + 1 == ended.size() && std::holds_alternative<FinishEvent>(event);
      if (auto* token = std::get_if<TokenEvent>(&event)) token->choice = static_cast<int64_t>(choice);
      if (auto* finish = std::get_if<FinishEvent>(&event)) finish->choice = static_cast<int64_t>(choice);
      request.stream->push(std::move(event), is_last);
    }
  }
}

}  // namespace

Sequence::Sequence(std::shared_ptr<ActiveRequest> request, int64_t choice, std::shared_ptr<const Tokenizer> tokenizer)
    : waiting_since(request->submitted),
      request_(std::move(request)),
      choice_(choice),
      tokenizer_(std::move(tokenizer)),
      tokens_(request_->prompt),
      sampler_(sampling_of(*request_, choice)),
      // Behind BOS alone a text begins, and so does a target.
      detokenizer_(tokenizer_, !is_whole() && (tokens_.size() != 1 || !tokenizer_->is_control(tokens_.front()))),
      stop_strings_(request_->request.params.stop) {
  for (const TokenId token : std::span(tokens_).subspan(static_cast<size_t>(request_->source))) sampler_.accept(token);
  if (const auto& constraint = request_->request.params.constraint; constraint != nullptr) {
    mask_ = std::make_shared<NextTokenMask>(constraint->clone());
  }
}

void Sequence::copy_mask(const Sequence& other) {
  if (mask_ == nullptr) return;
  mask_->allowed = other.mask_->allowed;
  mask_->error = other.mask_->error;
  mask_->state = NextTokenMask::State::known;
}

std::optional<StopReason> Sequence::choose(std::span<const float> logits, int64_t context) {
  const GenerationParams& params = request_->request.params;
  const std::span<const uint64_t> allowed = mask_ == nullptr ? std::span<const uint64_t>() : mask_->get();
  DrawnToken drawn;
  if (params.logprobs && params.logprobs_after_sampling) {
    drawn = sampler_.sample_with_distribution(logits, allowed);
  } else {
    drawn.token = sampler_.sample(logits, allowed);
  }
  const TokenId token = drawn.token;
  if (mask_ != nullptr) {
    mask_->state = NextTokenMask::State::unknown;
    mask_->constraint->accept(token);
  }
  TokenEvent event{.choice = choice_, .token = token};
  if (!drawn.distribution.empty()) event.logprob = logprob_of(drawn, *params.logprobs);
  if ((params.logprobs && !event.logprob) || request_->ranks()) {
    GeneratedLogprob logprob = logprob_of(logits, token, params.logprobs.value_or(0));
    logprob_sum_ += logprob.chosen.logprob;
    if (params.logprobs && !event.logprob) event.logprob = std::move(logprob);
  }
  return take(std::move(event), context);
}

std::optional<StopReason> Sequence::take(TokenEvent event, int64_t context) {
  const GenerationParams& params = request_->request.params;
  const TokenId token = event.token;
  tokens_.push_back(token);
  sampler_.accept(token);
  std::optional<StopReason> reason;
  if (!params.ignore_eos && tokenizer_->ends_generation(token)) {
    reason = StopReason::end_of_sequence;
  } else if (std::find(params.stop_tokens.begin(), params.stop_tokens.end(), token) != params.stop_tokens.end()) {
    stop_token_ = token;
    reason = StopReason::stop_sequence;
  } else {
    // Ids beyond the tokenizer's are padding of the embedding: they have no text.
    if (token < tokenizer_->vocab_size()) event.text = stop_strings_.push(detokenizer_.push(token));
    if (mask_ != nullptr && mask_->constraint->must_end()) {
      reason = StopReason::end_of_sequence;
    } else if (generated() >= params.max_tokens) {
      reason = StopReason::max_tokens;
    } else if (stop_strings_.matched()) {
      reason = StopReason::stop_sequence;
    } else if (length() > context) {
      reason = StopReason::context_full;
    }
  }
  tell(std::move(event));
  return reason;
}

void Sequence::finish(StopReason reason, EngineClock::time_point now) {
  FinishEvent event{.choice = choice_, .reason = reason, .stop_token = stop_token_, .seed = sampler_.seed()};
  if (!stop_strings_.matched()) event.text = stop_strings_.push(detokenizer_.finish());
  if (!stop_strings_.matched()) event.text += stop_strings_.finish();
  if (reason == StopReason::stop_sequence) event.stop_sequence_matched = stop_strings_.matched();
  event.usage = {.prompt_tokens = request_->usage.prompt_tokens,
                 .cached_tokens = request_->usage.cached_tokens,
                 .completion_tokens = generated(),
                 .draft_tokens = draft_tokens,
                 .accepted_tokens = accepted_tokens,
                 .preemptions = preemptions};
  event.timings = {.queued = seconds_between(request_->submitted, request_->started),
                   .prefill = seconds_between(request_->started, request_->prompted),
                   .time_to_first_token = seconds_between(request_->submitted, first_token),
                   .decode = seconds_between(first_token, now),
                   .decode_steps = decode_steps};
  if (request_->ranks() && generated() > 0) event.mean_logprob = logprob_sum_ / static_cast<double>(generated());
  const double worth = event.mean_logprob;
  --request_->open;
  if (!request_->ranks()) return request_->stream->push(std::move(event), request_->open == 0);
  tell(std::move(event));
  request_->ended.push_back({worth, std::move(untold_)});
  if (request_->open == 0) tell_best(*request_);
}

void Sequence::tell(StreamEvent event) {
  if (request_->ranks()) {
    untold_.push_back(std::move(event));
  } else {
    request_->stream->push(std::move(event), false);
  }
}

}  // namespace wick
