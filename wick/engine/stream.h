// A Stream is the caller's end of a request to an Engine: the events of its answer, in order, and the way to cancel it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "wick/base/remedy.h"
#include "wick/engine/generation.h"

namespace wick {

// Resources used by a request, or by one of its choices.
struct Usage {
  int64_t prompt_tokens = 0;      // BOS counted
  int64_t cached_tokens = 0;      // of these, found in the prefix cache
  int64_t completion_tokens = 0;  // generated, with one that ended the choice
  int64_t draft_tokens = 0;       // proposed by speculation
  int64_t accepted_tokens = 0;    // of these, right
  int64_t preemptions = 0;        // times that its memory was needed for others
};

// All in seconds; zero where it did not come to that.
struct Timings {
  double queued = 0;               // from submit() to the first step that it was part of
  double prefill = 0;              // from there to the prompt's logits
  double time_to_first_token = 0;  // from submit()
  double decode = 0;               // from the first token to the end
  int64_t decode_steps = 0;        // steps of the engine in that time; fewer than tokens with speculation
};

// How far a prompt is computed, where Request::report_progress asks for that. Each event has more computed tokens than the one before;
// those of a prompt that is computed again after a preemption are not told twice.
struct ProgressEvent {
  int64_t prompt_tokens = 0;
  int64_t cached_tokens = 0;    // of these, found in the prefix cache
  int64_t computed_tokens = 0;  // of all, with those that were found
  double seconds = 0;           // since the first step that it was part of
};

// The first event but those of progress, once the prompt has been computed.
struct PromptEvent {
  Usage usage = {};
  std::vector<TokenId> tokens = {};             // of the prompt, if `echo` or `prompt_logprobs` was asked for
  std::string text = {};                        // the prompt's, with `echo`
  std::vector<GeneratedLogprob> logprobs = {};  // of all tokens but the first, with `prompt_logprobs`
};

// A token was chosen.
struct TokenEvent {
  int64_t choice = 0;
  TokenId token = 0;
  std::string text = {};  // what became ready with it: valid UTF-8, often empty, and with stop strings later than its token
  std::optional<GeneratedLogprob> logprob = {};
};

// A choice has ended. Those of one request end one by one.
struct FinishEvent {
  int64_t choice = 0;
  std::string text = {};  // what was held back
  StopReason reason = StopReason::max_tokens;
  std::optional<std::string> stop_sequence_matched = {};
  std::optional<TokenId> stop_token = {};  // of GenerationParams::stop_tokens
  Usage usage = {};
  Timings timings = {};
  uint64_t seed = 0;        // that was used
  double mean_logprob = 0;  // of its tokens, where best_of was asked for
  // The vector of Task::embed: [width], not normalized, or the scores of labels; with EngineOptions::embeds_each_token [tokens, width], and
  // where Classifier::of_tokens [tokens, labels].
  std::vector<float> embedding = {};
};

// The request has failed; no other event follows. What came before is good.
struct ErrorEvent {
  ErrorCode code = ErrorCode::invalid_argument;
  std::string message = {};  // without the remedies
  bool can_retry = false;    // whether the same request may succeed later
  Remedies remedies = {};

  [[nodiscard]] RemediableError error() const { return {code, message, remedies}; }
};

using StreamEvent = std::variant<ProgressEvent, PromptEvent, TokenEvent, FinishEvent, ErrorEvent>;

class StreamState;

// Movable. Any thread may use it, one at a time; cancel() and on_ready() may be called beside another one's wait. Events are never dropped:
// who reads slowly makes the engine hold its own text, not others wait. A stream that is destroyed before its end is cancelled.
class Stream {
 public:
  Stream() = default;
  explicit Stream(std::shared_ptr<StreamState> state) : state_(std::move(state)) {}
  Stream(Stream&&) noexcept = default;
  Stream& operator=(Stream&& other) noexcept;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();

  // Waits for the next event; none once the last one was taken.
  [[nodiscard]] std::optional<StreamEvent> next();
  // The same, but no longer than that: none also then; ended() tells which.
  [[nodiscard]] std::optional<StreamEvent> next_within(std::chrono::nanoseconds time);
  // The next event if it is there.
  [[nodiscard]] std::optional<StreamEvent> poll();
  // Whether all events were taken, the last one among them.
  [[nodiscard]] bool ended() const;

  // The request ends with the next step: choices that are under way get a FinishEvent with StopReason::cancelled. As often as one likes.
  void cancel();
  // Calls `ready` on the engine's thread after events were added, once for those of a step; at once if there are some already. It must
  // return soon, since the engine waits for it; if it throws, the request is cancelled and `ready` not called again.
  void on_ready(std::function<void()> ready);

  // Counts the requests of an engine, from 1.
  [[nodiscard]] uint64_t id() const noexcept;

 private:
  std::shared_ptr<StreamState> state_;
};

}  // namespace wick
