// A Sequence is one choice of a request under way: its tokens, what of them the model has computed, and what of its text has been told.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wick/engine/mask_threads.h"
#include "wick/engine/request.h"
#include "wick/engine/sampling.h"
#include "wick/engine/speculation.h"
#include "wick/engine/stop_strings.h"
#include "wick/engine/stream_state.h"
#include "wick/model/batch.h"
#include "wick/op/sample.h"
#include "wick/text/tokenizer/streaming_detokenizer.h"

namespace wick {

using EngineClock = std::chrono::steady_clock;

[[nodiscard]] inline double seconds_between(EngineClock::time_point start, EngineClock::time_point end) noexcept {
  return std::chrono::duration<double>(end - start).count();
}

class Sequence;

// A request that submit() has taken; its choices share it.
struct ActiveRequest {
  Request request;
  std::shared_ptr<StreamState> stream;
  std::vector<TokenId> prompt;
  int64_t source = 0;           // tokens of the prompt that are the source of an encoder–decoder; the target's first follow
  uint64_t order = 0;           // of arrival
  uint64_t cache_identity = 0;  // of the prefix cache: what its contents depend on beside the tokens
  uint64_t seed = 0;            // of the first choice
  std::vector<AdapterUse> adapters = {};
  EngineClock::time_point submitted;
  std::optional<EngineClock::time_point> started = {};   // the first step that it was part of
  std::optional<EngineClock::time_point> prompted = {};  // the prompt was computed
  Usage usage = {};                                      // of the prompt
  int64_t told_progress = -1;                            // computed tokens of the last ProgressEvent
  std::vector<GeneratedLogprob> prompt_logprobs = {};
  int64_t open = 0;  // choices that have not ended
  // Those that have, where the best ones are to be told once all have: their events, and by them their worth.
  struct Ended {
    double mean_logprob = 0;
    std::vector<StreamEvent> events = {};
  };
  std::vector<Ended> ended = {};

  [[nodiscard]] bool ranks() const noexcept { return request.choices() > request.n; }
  // Whether the logits of its prompt are yet to come.
  [[nodiscard]] bool wants_prompt_logprobs() const noexcept { return request.prompt_logprobs && !prompted; }
};

class Sequence {
 public:
  Sequence(std::shared_ptr<ActiveRequest> request, int64_t choice, std::shared_ptr<const Tokenizer> tokenizer);

  [[nodiscard]] ActiveRequest& request() const noexcept { return *request_; }
  [[nodiscard]] const std::shared_ptr<ActiveRequest>& shared_request() const noexcept { return request_; }
  [[nodiscard]] int64_t choice() const noexcept { return choice_; }
  [[nodiscard]] std::span<const TokenId> tokens() const noexcept { return tokens_; }
  [[nodiscard]] int64_t length() const noexcept { return static_cast<int64_t>(tokens_.size()); }
  [[nodiscard]] int64_t generated() const noexcept { return length() - static_cast<int64_t>(request_->prompt.size()); }
  // Tokens that the model has not computed.
  [[nodiscard]] int64_t remaining() const noexcept { return length() - computed; }
  // Whether the model wants all of them in one step: a source is computed as a whole.
  [[nodiscard]] bool is_whole() const noexcept { return request_->source > 0; }
  // Whether each step adds a token to its text.
  [[nodiscard]] bool decodes() const noexcept { return generated() > 0 && remaining() > 0 && remaining() <= 1 + taken_back; }
  // Choices that will share its prompt's blocks, itself counted, once the prompt is computed.
  [[nodiscard]] int64_t slots() const noexcept { return generated() == 0 && choice_ == 0 ? request_->request.choices() : 1; }

  // Which tokens its constraint allows next; none without a constraint.
  [[nodiscard]] const std::shared_ptr<NextTokenMask>& mask() const noexcept { return mask_; }
  // Takes the mask of another choice of the request, which has the same tokens.
  void copy_mask(const Sequence& other);
  // Chooses the next token from a row of logits and takes it: tells it, and returns the reason to end if it is one. `context`: the most
  // positions that the sequence may have. The mask is known. Errors: those of the sampler and the constraint.
  std::optional<StopReason> choose(std::span<const float> logits, int64_t context);
  // The same with a token that was chosen already, by the device.
  std::optional<StopReason> take(TokenId token, int64_t context) {
    sampler_.note_draw();
    return take(TokenEvent{.choice = choice_, .token = token}, context);
  }
  // Sampler::device_settings, with so many tokens under way.
  [[nodiscard]] std::optional<SampleSettings> device_sampling(uint64_t under_way) const { return sampler_.device_settings(under_way); }
  // Ends the choice: tells what was held back, and why.
  void finish(StopReason reason, EngineClock::time_point now);

  // --- What the engine keeps with it ---
  bool ended = false;           // nothing more comes of it
  SequenceHandle handle = {};   // in the pool; empty while it waits
  SequenceHandle draft = {};    // in the draft model's
  int64_t computed = 0;         // positions in the pool
  int64_t taken_back = 0;       // tokens that a refused proposal took back with it: the next step computes them again
  int64_t expected_prefix = 0;  // what the prefix cache had when it was last looked up
  int64_t preemptions = 0, draft_tokens = 0, accepted_tokens = 0;
  int64_t decode_steps = 0;
  EngineClock::time_point waiting_since;
  EngineClock::time_point last_token;
  std::vector<float> waiting_logits;  // of its next token, whose mask is not known yet; empty where it does not wait for one
  std::optional<EngineClock::time_point> first_token = {};
  NgramIndex ngrams;
  Acceptance acceptance;

 private:
  void tell(StreamEvent event);
  std::optional<StopReason> take(TokenEvent event, int64_t context);

  std::shared_ptr<ActiveRequest> request_;
  int64_t choice_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<TokenId> tokens_;
  Sampler sampler_;
  StreamingDetokenizer detokenizer_;
  StopStrings stop_strings_;
  std::shared_ptr<NextTokenMask> mask_;  // may be none
  std::optional<TokenId> stop_token_;
  double logprob_sum_ = 0;
  std::vector<StreamEvent> untold_;  // where the request ranks its choices
};

}  // namespace wick
