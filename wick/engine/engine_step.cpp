// One step of an EngineCore: the batch, and what comes of it.
#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/remedy.h"
#include "wick/engine/engine_core.h"
#include "wick/engine/host_rows.h"
#include "wick/engine/logprobs.h"

namespace wick {
namespace {

double seconds_since(EngineClock::time_point start) { return seconds_between(start, EngineClock::now()); }

// How long a step waits for masks that are not known: about what the step itself takes is too long for the others.
constexpr std::chrono::milliseconds kMaskPatience(1);
// And how long where nobody has anything else to compute: new requests are looked at in between.
constexpr std::chrono::milliseconds kIdleMaskPatience(5);

}  // namespace

void EngineCore::step() {
  const EngineClock::time_point begin = EngineClock::now();
  step_model_seconds_ = 0;
  retire();
  choose_waiting();
  swap_if_due();
  if (!idle() && !loaded()) {
    try {
      ensure_loaded();
    } catch (const Error& error) {
      return fail_all(error);
    }
  }
  if (ahead_ == nullptr || !run_ahead()) {
    // Those that the tokens of the step ahead have ended.
    remove_ended();
    admit();
    note_load();
    if (!scheduler_.running().empty()) {
      std::vector<SequenceRows> works = plan();
      if (!works.empty()) {
        run(works);
      } else if (embeddings_.empty() && waits_for_masks()) {
        mask_threads_.wait_for_any(EngineClock::now() + kIdleMaskPatience);
      }
    }
  }
  if (!embeddings_.empty() && !lost_) run_embeddings();
  remove_ended();
  swap_if_due();
  ++metrics_.steps;
  update_gauges();
  publish();
  metrics_.step_seconds += seconds_since(begin);
  metrics_.model_seconds += step_model_seconds_;
}

void EngineCore::publish() {
  // Before the readers know: a place that one had is there for the next when they do.
  note_load();
  for (const auto& request : touched_) request->stream->publish();
  touched_.clear();
}

// --- The batch ---

std::vector<SequenceRows> EngineCore::plan() {
  std::vector<SequenceRows> works = scheduler_.plan(memory_);
  step_model_seconds_ += proposer_.propose(works, model_->recorded_rows());
  fit(works);
  return works;
}

void EngineCore::fit(std::vector<SequenceRows>& works) {
  const Fit changes = scheduler_.fit(works, memory_);
  note_preempted(changes.preempted);
  if (changes.failed == nullptr) return;
  fail(changes.failed->request(),
       RemediableError(ErrorCode::out_of_memory, "the KV cache has no room for one more token", {{"give the engine more memory"}}));
}

bool EngineCore::is_unwanted(const Sequence& sequence) const {
  const ActiveRequest& request = sequence.request();
  if (request.stream->cancelled()) return true;
  try {
    if (!request.request.params.is_cancelled || !request.request.params.is_cancelled()) return false;
  } catch (...) {
    // It is one caller's, and the step all others' too: that one's request ends.
  }
  request.stream->cancel();
  return true;
}

Tensor EngineCore::forward(std::vector<SequenceRows>& works, const Tensor& earlier) {
  Batch batch;
  int64_t results = 0;
  std::vector<TokenId> tokens;
  for (SequenceRows& work : works) {
    const Sequence& sequence = *work.sequence;
    if (work.earlier) {
      tokens = {Batch::earlier_token(*work.earlier)};
    } else {
      const auto own = sequence.tokens().subspan(static_cast<size_t>(sequence.computed), static_cast<size_t>(work.count));
      tokens.assign(own.begin(), own.end());
    }
    tokens.insert(tokens.end(), work.proposed.begin(), work.proposed.end());
    const bool reaches_end = work.earlier || sequence.computed + work.count == sequence.length();
    work.first_result = results;
    work.results = sequence.request().wants_prompt_logprobs() ? work.count : reaches_end ? 1 + std::ssize(work.proposed) : 0;
    results += work.results;
    batch.add(sequence.handle, sequence.computed, tokens, Batch::Results::none, sequence.request().adapters);
    for (int64_t row = batch.rows() - work.results; row < batch.rows(); ++row) batch.logit_rows.push_back(static_cast<int32_t>(row));
    batch.sequences.back().source = sequence.request().source;
    batch.sequences.back().is_tentative = work.earlier || !work.proposed.empty();
  }
  // Only if nobody wants the step any more: the others would wait for nothing.
  const auto stop = [&] {
    return std::all_of(works.begin(), works.end(), [&](const SequenceRows& work) { return is_unwanted(*work.sequence); });
  };
  const RecordedSteps& recorded = memory_.pool().recorded_steps();
  const int64_t not_replayed = recorded.runs() - recorded.replays();
  Tensor logits = model_->forward(batch, memory_.pool(), {.result = ModelResult::logits, .stop = stop, .earlier = earlier});
  step_was_prepared_ = recorded.runs() - recorded.replays() == not_replayed;
  return logits;
}

void EngineCore::run(std::vector<SequenceRows>& works) {
  const EngineClock::time_point begin = EngineClock::now();
  Tensor logits;
  std::span<const float> host;
  try {
    logits = forward(works, {});
    if (logits.defined() && may_go_ahead_ && DrawnStep::can_draw(works)) {
      draw(works, logits, begin);
      step_model_seconds_ += seconds_since(begin);
      return;
    }
    if (logits.defined()) host = host_rows(logits, host_logits_);
  } catch (const Error& error) {
    step_model_seconds_ += seconds_since(begin);
    if (error.code() == ErrorCode::device_lost) {
      lost_ = error;
      return fail_all(error);
    }
    // Windows take blocks that were not counted. Nothing has changed: the next step has one sequence less.
    if (error.code() == ErrorCode::out_of_memory && scheduler_.running().size() > 1) {
      Sequence* const victim = scheduler_.victim();
      scheduler_.preempt(*victim, memory_);
      return note_preempted({&victim, 1});
    }
    for (const SequenceRows& work : works) fail(work.sequence->request(), error);
    return;
  } catch (const std::exception& error) {
    // Memory of the host ran out.
    for (const SequenceRows& work : works) fail(work.sequence->request(), Error(ErrorCode::out_of_memory, error.what()));
    return;
  }
  const double seconds = seconds_since(begin);
  step_model_seconds_ += seconds;
  if (!logits.defined()) return;
  masks_until_ = EngineClock::now() + kMaskPatience;
  const int64_t rows = logits.dim(0);
  const size_t width = rows > 0 ? host.size() / static_cast<size_t>(rows) : 0;
  int64_t computed = 0;
  for (SequenceRows& work : works) {
    computed += work.rows();
    work.sequence->computed += work.rows();
    const auto own = host.subspan(static_cast<size_t>(work.first_result) * width, static_cast<size_t>(work.results) * width);
    if (!work.sequence->ended) take_results(work, own);
  }
  if (step_was_prepared_) proposer_.add_cost(computed, seconds);
}

// --- Masks ---

bool EngineCore::knows_mask(const Sequence& sequence) {
  const auto& mask = sequence.mask();
  if (mask == nullptr) return true;
  mask_threads_.compute(mask);
  return mask_threads_.wait(*mask, masks_until_);
}

void EngineCore::wait_for_mask(Sequence& sequence, std::span<const float> logits) {
  sequence.waiting_logits.assign(logits.begin(), logits.end());
}

bool EngineCore::waits_for_masks() const {
  const auto& running = scheduler_.running();
  return std::any_of(running.begin(), running.end(), [](const auto& sequence) { return !sequence->waiting_logits.empty(); });
}

void EngineCore::choose_waiting() {
  masks_until_ = EngineClock::now();
  // Choices that begin with one of them are added after it.
  for (size_t index = 0; index < scheduler_.running().size(); ++index) {
    Sequence& sequence = *scheduler_.running()[index];
    if (sequence.ended || sequence.waiting_logits.empty() || !knows_mask(sequence)) continue;
    const std::vector<float> logits = std::exchange(sequence.waiting_logits, {});
    SequenceRows work{.sequence = &sequence, .count = 0, .results = 1};
    try {
      choose(work, logits);
    } catch (const Error& error) {
      fail(sequence.request(), error);
    }
  }
  remove_ended();
}

// --- What comes of it ---

void EngineCore::take_results(SequenceRows& work, std::span<const float> logits) {
  Sequence& sequence = *work.sequence;
  const EngineClock::time_point begin = EngineClock::now();
  try {
    if (sequence.request().wants_prompt_logprobs()) take_prompt_logprobs(work, logits);
    tell_progress(sequence);
    if (sequence.computed >= sequence.length()) {
      if (!sequence.request().prompted) tell_prompt(sequence);
      choose(work, logits);
    }
  } catch (const Error& error) {
    fail(sequence.request(), error);
  }
  metrics_.sampling_seconds += seconds_since(begin);
}

void EngineCore::take_prompt_logprobs(SequenceRows& work, std::span<const float> logits) {
  const Sequence& sequence = *work.sequence;
  ActiveRequest& request = sequence.request();
  const size_t width = logits.size() / static_cast<size_t>(work.results);
  const int64_t first = sequence.computed - work.count;
  // Computed anew after a preemption.
  request.prompt_logprobs.resize(static_cast<size_t>(first));
  for (int64_t row = 0; row < work.count; ++row) {
    const int64_t next = first + row + 1;
    if (next >= std::ssize(request.prompt)) break;
    const auto of = logits.subspan(static_cast<size_t>(row) * width, width);
    request.prompt_logprobs.push_back(logprob_of(of, request.prompt[static_cast<size_t>(next)], *request.request.prompt_logprobs));
  }
}

void EngineCore::tell_prompt(Sequence& sequence) {
  ActiveRequest& request = sequence.request();
  request.prompted = EngineClock::now();
  metrics_.prompt_tokens += static_cast<uint64_t>(request.usage.prompt_tokens);
  metrics_.prefill.add(seconds_between(*request.started, *request.prompted));
  PromptEvent event{.usage = request.usage, .logprobs = std::move(request.prompt_logprobs)};
  // What a target begins with is not the caller's.
  const auto prompt = std::span(request.prompt).first(static_cast<size_t>(request.usage.prompt_tokens));
  if (request.request.echo || request.request.prompt_logprobs) event.tokens.assign(prompt.begin(), prompt.end());
  if (request.request.echo) event.text = tokenizer_->decode(prompt);
  request.stream->push(std::move(event), false);
  touched_.push_back(sequence.shared_request());
}

void EngineCore::tell_progress(Sequence& sequence) {
  ActiveRequest& request = sequence.request();
  if (!request.request.report_progress || request.prompted || sequence.computed <= request.told_progress) return;
  request.told_progress = sequence.computed;
  request.stream->push(ProgressEvent{.prompt_tokens = std::ssize(request.prompt),
                                     .cached_tokens = request.usage.cached_tokens,
                                     .computed_tokens = sequence.computed,
                                     .seconds = seconds_since(*request.started)},
                       false);
  touched_.push_back(sequence.shared_request());
}

void EngineCore::fork_choices(Sequence& leader, std::span<const float> logits) {
  const int64_t choices = leader.slots();
  std::vector<std::unique_ptr<Sequence>> others;
  for (int64_t choice = 1; choice < choices; ++choice) {
    auto sequence = std::make_unique<Sequence>(leader.shared_request(), choice, tokenizer_);
    sequence->handle = memory_.pool().fork(leader.handle);
    sequence->computed = leader.computed;
    sequence->copy_mask(leader);
    others.push_back(std::move(sequence));
  }
  // All are known before one fails, which ends them all.
  std::vector<Sequence*> going;
  for (auto& other : others) {
    going.push_back(other.get());
    scheduler_.add_running(std::move(other));
  }
  for (Sequence* sequence : going) {
    if (const auto reason = choose_one(*sequence, logits)) end(*sequence, *reason);
  }
}

void EngineCore::choose(SequenceRows& work, std::span<const float> logits) {
  Sequence& sequence = *work.sequence;
  if (sequence.request().request.params.max_tokens == 0) return end(sequence, StopReason::max_tokens);
  const size_t width = logits.size() / static_cast<size_t>(work.results);
  const auto row = [&](int64_t index) { return logits.subspan(static_cast<size_t>(index) * width, width); };
  const int64_t last = work.results - 1 - std::ssize(work.proposed);
  bool waits = !knows_mask(sequence);
  int64_t accepted = 0;
  std::optional<StopReason> reason;
  if (!waits) {
    if (sequence.first_token) ++sequence.decode_steps;
    if (sequence.slots() > 1) fork_choices(sequence, row(last));
    for (;;) {
      reason = choose_one(sequence, row(last + accepted));
      if (reason || accepted == std::ssize(work.proposed)) break;
      if (sequence.tokens().back() != work.proposed[static_cast<size_t>(accepted)]) break;
      ++accepted;
      waits = !knows_mask(sequence);
      if (waits) break;
    }
  }
  if (waits) wait_for_mask(sequence, row(last + accepted));
  if (!work.proposed.empty()) {
    // Those that the mask was not known for have not been tried.
    sequence.acceptance.add(waits ? accepted : std::ssize(work.proposed), accepted);
    sequence.draft_tokens += std::ssize(work.proposed);
    sequence.accepted_tokens += accepted;
    metrics_.draft_tokens += work.proposed.size();
    metrics_.accepted_draft_tokens += static_cast<uint64_t>(accepted);
    // The chosen one behind the last right proposal has not been computed.
    const int64_t before = sequence.computed - work.rows();
    const int64_t right = std::min(sequence.computed, sequence.length() - (waits ? 0 : 1));
    sequence.computed = memory_.pool().truncate(sequence.handle, right);
    sequence.taken_back = sequence.computed < before ? 0 : right - sequence.computed;
    metrics_.recomputed_tokens += static_cast<uint64_t>(right - sequence.computed);
  }
  if (reason) end(sequence, *reason);
}

std::optional<StopReason> EngineCore::choose_one(Sequence& sequence, std::span<const float> logits) {
  const std::optional<StopReason> reason = sequence.choose(logits, context_of(sequence));
  // It is computed while the device computes the next step.
  if (!reason && sequence.mask() != nullptr) mask_threads_.compute(sequence.mask());
  return note_choice(sequence, reason);
}

std::optional<StopReason> EngineCore::note_choice(Sequence& sequence, std::optional<StopReason> reason) {
  const EngineClock::time_point now = EngineClock::now();
  if (sequence.first_token) {
    metrics_.inter_token.add(seconds_between(sequence.last_token, now));
  } else {
    sequence.first_token = now;
    if (sequence.choice() == 0) {
      metrics_.time_to_first_token.add(seconds_between(sequence.request().submitted, now));
    }
  }
  sequence.last_token = now;
  ++metrics_.generated_tokens;
  touched_.push_back(sequence.shared_request());
  return reason;
}

// --- One step ahead: where the device draws the tokens, the next step is queued before the host has read them ---

void EngineCore::draw(const std::vector<SequenceRows>& works, const Tensor& logits, EngineClock::time_point begin) {
  try {
    ahead_ = std::make_unique<DrawnStep>(works, logits, model_->device().runtime().queue(), begin);
  } catch (...) {
    // The step counts as a whole or not at all.
    for (const SequenceRows& work : works) {
      Sequence& sequence = *work.sequence;
      sequence.computed = memory_.pool().truncate(sequence.handle, sequence.computed);
    }
    throw;
  }
  ahead_was_prepared_ = step_was_prepared_;
  for (const SequenceRows& work : works) work.sequence->computed += work.rows();
}

std::vector<SequenceRows> EngineCore::plan_ahead() {
  if (scheduler_.may_admit() || !embeddings_.empty() || next_model_ != nullptr) return {};
  std::vector<SequenceRows> works;
  int64_t there = 0;
  for (size_t row = 0; row < ahead_->rows().size(); ++row) {
    Sequence* const sequence = ahead_->rows()[row].sequence;
    if (sequence == nullptr || sequence->ended) continue;
    ++there;
    // With the token that is under way it ends.
    const bool ends =
        sequence->generated() + 1 >= sequence->request().request.params.max_tokens || sequence->length() + 1 > context_of(*sequence);
    if (ends) continue;
    works.push_back({.sequence = sequence, .count = 1, .earlier = static_cast<int64_t>(row), .results = 1});
    if (sequence->request().request.cache_prompt) works.back().max_proposed = memory_.pool().proposals_to_state(sequence->handle, 1);
  }
  const auto& running = scheduler_.running();
  const auto open = std::count_if(running.begin(), running.end(), [](const auto& sequence) { return !sequence->ended; });
  // Others read their prompts: both go on together.
  if (works.empty() || open != there || !Scheduler::fits(works, memory_) || !DrawnStep::can_draw(works) ||
      proposer_.would_propose(works, model_->recorded_rows()))
    return {};
  return works;
}

bool EngineCore::run_ahead() {
  std::vector<SequenceRows> works = plan_ahead();
  const std::unique_ptr<DrawnStep> before = std::move(ahead_);
  const bool was_prepared = ahead_was_prepared_;
  const EngineClock::time_point begin = EngineClock::now();
  bool going = false;
  if (!works.empty()) {
    try {
      const Tensor logits = forward(works, before->tokens());
      if (logits.defined()) draw(works, logits, begin);
      going = logits.defined();
      if (going) ++metrics_.ahead_steps;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::device_lost) {
        lost_ = error;
        fail_all(error);
        return true;
      }
      // Without memory the step is tried again when the tokens are known; any other error comes again then.
    }
  }
  step_model_seconds_ += seconds_between(begin, EngineClock::now());
  collect(*before, was_prepared);
  return going;
}

void EngineCore::collect(DrawnStep& ahead, bool was_prepared) {
  const EngineClock::time_point begin = EngineClock::now();
  try {
    ahead.wait();
  } catch (const Error& error) {
    step_model_seconds_ += seconds_between(begin, EngineClock::now());
    lost_ = error;
    return fail_all(error);
  }
  const EngineClock::time_point now = EngineClock::now();
  step_model_seconds_ += seconds_between(begin, now);
  // From the end of the step before it, if that came later than its own begin.
  const double seconds = seconds_between(std::max(ahead.begin(), last_collected_), now);
  last_collected_ = now;
  // A recording of the step behind it delays what is read of this one.
  if (was_prepared && step_was_prepared_) proposer_.add_ahead_cost(ahead.computed(), seconds);
  for (const auto& [sequence, position, token] : ahead.rows()) {
    if (sequence != nullptr && !sequence->ended) take_drawn(*sequence, position, token);
  }
  metrics_.sampling_seconds += seconds_between(now, EngineClock::now());
}

void EngineCore::take_drawn(Sequence& sequence, int64_t position, TokenId token) {
  try {
    if (!sequence.request().prompted) tell_prompt(sequence);
    if (token < 0) fail_without_distribution();
    if (sequence.first_token) ++sequence.decode_steps;
    // A later step has taken it for granted.
    const bool is_computed = sequence.computed > position;
    if (is_computed) memory_.pool().set_tokens(sequence.handle, position, std::span(&token, 1));
    const auto reason = note_choice(sequence, sequence.take(token, context_of(sequence)));
    if (!reason) {
      // That step was right.
      if (is_computed) sequence.computed = memory_.pool().truncate(sequence.handle, sequence.computed);
      return;
    }
    if (sequence.computed >= sequence.length()) sequence.computed = memory_.pool().truncate(sequence.handle, sequence.length() - 1);
    end(sequence, *reason);
  } catch (const Error& error) {
    fail(sequence.request(), error);
  }
}

void EngineCore::remove_ended() {
  if (ahead_ != nullptr && !ahead_->remove_ended()) ahead_.reset();
  scheduler_.remove_ended();
}

void EngineCore::warm_up() {
  ensure_loaded();
  if (info_.source_tokens > 0) return warm_up_target();
  for (const int64_t rows : {int64_t{1}, std::min(info_.step_rows, info_.context)}) {
    Batch batch;
    // Of no sequence: nothing is left of it.
    batch.add({}, 0, std::vector<TokenId>(static_cast<size_t>(rows), 0), Batch::Results::last);
    const ModelResult result = model_->info().headless ? ModelResult::hidden : ModelResult::logits;
    (void)host_rows(model_->forward(batch, memory_.pool(), {.result = result, .pooling = {}, .stop = {}}), host_logits_);
  }
}

void EngineCore::warm_up_target() {
  Batch batch;
  batch.add({}, 0, std::vector<TokenId>(2, 0), Batch::Results::last);
  batch.sequences.back().source = 1;
  (void)host_rows(model_->forward(batch, memory_.pool()), host_logits_);
}

// --- Embeddings ---

void EngineCore::run_embeddings() {
  const EmbeddingQueue::Requests chosen = embeddings_.take(memory_.pool());
  touched_.insert(touched_.end(), chosen.begin(), chosen.end());
  note_load(std::ssize(chosen));
  try {
    step_model_seconds_ += embeddings_.compute(chosen, *model_, memory_.pool(), options_, info_, metrics_);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::out_of_memory && !scheduler_.running().empty()) {
      // When those that run have ended there is room.
      return embeddings_.put_back(chosen);
    }
    for (const auto& request : chosen) fail(*request, error);
    if (error.code() != ErrorCode::device_lost) return;
    lost_ = error;
    fail_all(error);
  }
}

}  // namespace wick
