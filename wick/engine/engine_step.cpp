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
// Rows of prompts to embed in one batch; a longer prompt is one by itself.
constexpr int64_t kEmbeddingRows = 512;

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
  if (may_speculate_) propose(works);
  fit(works);
  return works;
}

int64_t EngineCore::most_proposed(const Sequence& sequence, int64_t under_way) const {
  const int64_t length = sequence.length() + under_way, generated = sequence.generated() + under_way;
  // A token that is checked is followed by a chosen one.
  return std::min({options_.speculation.most, sequence.request().request.params.max_tokens - generated - 1, info_.context - length});
}

void EngineCore::propose(std::vector<SequenceRows>& works) {
  std::vector<Proposal> proposals(works.size());
  std::vector<std::vector<TokenId>> found(works.size());
  int64_t rows = 0;
  int64_t tokens = 0;
  for (size_t index = 0; index < works.size(); ++index) {
    Sequence& sequence = *works[index].sequence;
    rows += works[index].count;
    if (!sequence.decodes()) continue;
    ++tokens;
    const int64_t most = most_proposed(sequence, 0);
    if (most < 1) continue;
    if (options_.speculation.ngram) found[index] = sequence.ngrams.propose(sequence.tokens(), most);
    const bool drafts = draft_ != nullptr && found[index].empty();
    proposals[index] = {sequence.acceptance.probability(), drafts ? most : std::ssize(found[index])};
  }
  if (tokens == 0) return;
  const double drafting = draft_ == nullptr ? 0 : draft_->seconds_per_token();
  std::vector<int64_t> lengths;
  if (options_.speculation.adaptive) {
    lengths = choose_lengths(proposals, proposing_cost(), {rows, tokens, model_->recorded_rows()}, drafting).lengths;
  } else {
    for (const Proposal& proposal : proposals) lengths.push_back(proposal.most);
  }
  std::vector<Sequence*> drafted;
  std::vector<int64_t> drafted_lengths;
  std::vector<size_t> places;
  for (size_t index = 0; index < works.size(); ++index) {
    Sequence& sequence = *works[index].sequence;
    if (lengths[index] == 0) {
      if (sequence.decodes()) sequence.acceptance.fade();
    } else if (!found[index].empty()) {
      found[index].resize(static_cast<size_t>(lengths[index]));
      works[index].proposed = std::move(found[index]);
    } else {
      drafted.push_back(&sequence);
      drafted_lengths.push_back(lengths[index]);
      places.push_back(index);
    }
  }
  if (drafted.empty()) return;
  const EngineClock::time_point begin = EngineClock::now();
  std::vector<std::vector<TokenId>> texts = draft_->propose(drafted, drafted_lengths);
  for (size_t place = 0; place < places.size(); ++place) works[places[place]].proposed = std::move(texts[place]);
  step_model_seconds_ += seconds_since(begin);
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
    auto wanted = reaches_end ? Batch::Results::last : Batch::Results::none;
    if (sequence.request().wants_prompt_logprobs() || !work.proposed.empty()) wanted = Batch::Results::all;
    work.first_result = results;
    work.results = wanted == Batch::Results::all ? work.rows() : wanted == Batch::Results::last ? 1 : 0;
    results += work.results;
    batch.add(sequence.handle, sequence.computed, tokens, wanted, sequence.request().adapters);
    batch.sequences.back().source = sequence.request().source;
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
    if (logits.defined() && draws_on_device(works)) {
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
  if (computed <= kMaxCostRows && step_was_prepared_) cost_.add(computed, seconds);
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
    const int64_t right = std::min(sequence.computed, sequence.length() - (waits ? 0 : 1));
    if (right < sequence.computed) sequence.computed = memory_.pool().truncate(sequence.handle, right);
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
  // A few short prompts, or one of any length, beside the others' next token.
  std::vector<std::shared_ptr<ActiveRequest>> chosen;
  int64_t rows = 0;
  std::stable_sort(embeddings_.begin(), embeddings_.end(),
                   [](const auto& left, const auto& right) { return left->request.priority > right->request.priority; });
  // Each takes a state of its own, where layers keep them.
  const KvPool::Usage states = memory_.pool().state_usage();
  const size_t most = states.blocks == 0 ? embeddings_.size() : static_cast<size_t>(std::max<int64_t>(1, states.blocks - states.used));
  while (!embeddings_.empty() && chosen.size() < most &&
         (chosen.empty() || rows + std::ssize(embeddings_.front()->prompt) <= kEmbeddingRows)) {
    rows += std::ssize(embeddings_.front()->prompt);
    chosen.push_back(std::move(embeddings_.front()));
    embeddings_.erase(embeddings_.begin());
  }
  touched_.insert(touched_.end(), chosen.begin(), chosen.end());
  note_load(std::ssize(chosen));
  try {
    embed(chosen);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::out_of_memory && !scheduler_.running().empty()) {
      // When those that run have ended there is room.
      embeddings_.insert(embeddings_.begin(), chosen.begin(), chosen.end());
      return;
    }
    for (const auto& request : chosen) fail(*request, error);
    if (error.code() != ErrorCode::device_lost) return;
    lost_ = error;
    fail_all(error);
  }
}

void EngineCore::embed(std::span<const std::shared_ptr<ActiveRequest>> requests) {
  const EngineClock::time_point begin = EngineClock::now();
  const bool has_each_token = options_.embeds_each_token;
  Batch batch;
  for (const auto& request : requests) {
    request->started = begin;
    batch.add({}, 0, request->prompt, has_each_token ? Batch::Results::all : Batch::Results::none, request->adapters);
    batch.sequences.back().second = request->request.second;
  }
  const ModelResult result = has_each_token ? ModelResult::hidden : ModelResult::pooled;
  const Tensor pooled = model_->forward(batch, memory_.pool(), {.result = result, .pooling = options_.pooling, .stop = {}});
  const std::span<const float> host = host_rows(pooled, host_logits_);
  const EngineClock::time_point now = EngineClock::now();
  step_model_seconds_ += seconds_since(begin);
  const bool of_tokens = has_each_token || (info_.pooling == Pooling::rank && info_.classifier && info_.classifier->of_tokens);
  const size_t width = host.size() / (of_tokens ? batch.tokens.size() : requests.size());
  size_t first = 0;
  for (size_t index = 0; index < requests.size(); ++index) {
    ActiveRequest& request = *requests[index];
    const auto row = host.subspan(first, width * (of_tokens ? request.prompt.size() : 1));
    first += row.size();
    FinishEvent event{.reason = StopReason::end_of_sequence, .usage = request.usage, .embedding = {row.begin(), row.end()}};
    event.timings = {.queued = seconds_between(request.submitted, begin), .prefill = seconds_between(begin, now)};
    metrics_.prompt_tokens += static_cast<uint64_t>(request.usage.prompt_tokens);
    ++metrics_.finished[static_cast<size_t>(event.reason)];
    metrics_.end_to_end.add(seconds_between(request.submitted, now));
    request.stream->push(PromptEvent{.usage = request.usage}, false);
    request.stream->push(std::move(event), true);
  }
}

}  // namespace wick
