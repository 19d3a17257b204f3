// One step ahead: where the device draws the tokens of a step, the next one is queued before the host has read them, so that the host
// streams tokens and prepares batches while the device computes.
#include <algorithm>
#include <exception>
#include <utility>

#include "wick/base/fail.h"
#include "wick/device/readback_queue.h"
#include "wick/engine/engine_core.h"
#include "wick/tensor/ops/sample.h"

namespace wick {
namespace {

// The device finds the borders of top_k and top_p in as much time for one row as for many; the host, row by row, is sooner done with fewer.
constexpr int64_t kFewestFiltered = 4;

}  // namespace

std::optional<SampleSettings> EngineCore::device_sampling(const SequenceRows& work) const {
  const Sequence& sequence = *work.sequence;
  const Request& request = sequence.request().request;
  const bool wants_logits = request.params.logprobs || sequence.request().ranks() || request.params.constraint != nullptr ||
                            (request.prompt_logprobs && !sequence.request().prompted);
  if (wants_logits || work.results != 1 || !work.proposed.empty() || sequence.slots() > 1 || request.params.max_tokens == 0) {
    return std::nullopt;
  }
  return sequence.device_sampling(work.earlier ? 1 : 0);
}

bool EngineCore::draws_on_device(const std::vector<SequenceRows>& works) const {
  if (!may_go_ahead_) return false;
  int64_t filtered = 0, plain = 0;
  for (const SequenceRows& work : works) {
    if (work.results == 0) continue;
    const std::optional<SampleSettings> settings = device_sampling(work);
    if (!settings) return false;
    const bool filters = settings->inverse_temperature != 0 && (settings->top_k > 0 || settings->top_p < 1);
    ++(filters ? filtered : plain);
  }
  return filtered == 0 ? plain > 0 : filtered >= kFewestFiltered;
}

void EngineCore::draw(const std::vector<SequenceRows>& works, const Tensor& logits, EngineClock::time_point begin) {
  try {
    queue_draw(works, logits, begin);
  } catch (...) {
    // The step counts as a whole or not at all.
    for (const SequenceRows& work : works) {
      Sequence& sequence = *work.sequence;
      sequence.computed = memory_.pool().truncate(sequence.handle, sequence.computed);
    }
    throw;
  }
}

void EngineCore::queue_draw(const std::vector<SequenceRows>& works, const Tensor& logits, EngineClock::time_point begin) {
  auto next = std::make_unique<Ahead>();
  next->begin = begin;
  next->prepared = step_was_prepared_;
  std::vector<SampleSettings> settings;
  for (const SequenceRows& work : works) {
    next->computed += work.rows();
    if (work.results == 0) continue;
    settings.push_back(*device_sampling(work));
    next->rows.push_back({work.sequence, work.sequence->computed + work.rows()});
  }
  next->tokens = sample(logits, settings);
  next->host.resize(settings.size());
  const auto offset = static_cast<size_t>(next->tokens.layout().offset()) * sizeof(int32_t);
  next->done = read_back(model_->device().runtime().queue(), next->tokens.storage()->buffer(), offset,
                         reinterpret_cast<std::byte*>(next->host.data()), next->host.size() * sizeof(int32_t));
  // What has no distribution is no token: its sequence fails when it is read.
  next->tokens = next->tokens.maximum(0);
  for (const SequenceRows& work : works) work.sequence->computed += work.rows();
  ahead_ = std::move(next);
}

bool EngineCore::would_propose(const std::vector<SequenceRows>& works) {
  if (!may_speculate_) return false;
  if (draft_ != nullptr) return true;
  std::vector<Proposal> proposals;
  bool any = false;
  for (const SequenceRows& work : works) {
    Sequence& sequence = *work.sequence;
    const int64_t most = most_proposed(sequence, 1);
    const std::vector<TokenId> found =
        most < 1 || !options_.speculation.ngram ? std::vector<TokenId>{} : sequence.ngrams.propose(sequence.tokens(), most);
    any = any || !found.empty();
    proposals.push_back({sequence.acceptance.probability(), std::ssize(found)});
  }
  if (!any) return false;
  if (!options_.speculation.adaptive) return true;
  const auto rows = std::ssize(works);
  if (pays(choose_lengths(proposals, proposing_cost(), {rows, rows, model_->recorded_rows()}, 0), ahead_cost_, rows)) return true;
  cost_.fade();
  for (const SequenceRows& work : works) work.sequence->acceptance.fade();
  return false;
}

std::vector<SequenceRows> EngineCore::plan_ahead() {
  if (scheduler_.may_admit() || !embeddings_.empty() || next_model_ != nullptr) return {};
  std::vector<SequenceRows> works;
  int64_t there = 0;
  for (size_t row = 0; row < ahead_->rows.size(); ++row) {
    Sequence* const sequence = ahead_->rows[row].sequence;
    if (sequence == nullptr || sequence->ended) continue;
    ++there;
    // With the token that is under way it ends.
    const bool ends =
        sequence->generated() + 1 >= sequence->request().request.params.max_tokens || sequence->length() + 1 > context_of(*sequence);
    if (!ends) works.push_back({.sequence = sequence, .count = 1, .earlier = static_cast<int64_t>(row), .results = 1});
  }
  const auto& running = scheduler_.running();
  const auto open = std::count_if(running.begin(), running.end(), [](const auto& sequence) { return !sequence->ended; });
  // Others read their prompts: both go on together.
  if (works.empty() || open != there || !Scheduler::fits(works, memory_) || !draws_on_device(works) || would_propose(works)) return {};
  return works;
}

bool EngineCore::run_ahead() {
  std::vector<SequenceRows> works = plan_ahead();
  const std::unique_ptr<Ahead> before = std::move(ahead_);
  const EngineClock::time_point begin = EngineClock::now();
  bool going = false;
  if (!works.empty()) {
    try {
      const Tensor logits = forward(works, before->tokens);
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
  collect(*before);
  return going;
}

void EngineCore::collect(Ahead& ahead) {
  const EngineClock::time_point begin = EngineClock::now();
  try {
    ahead.done->wait();
  } catch (const Error& error) {
    step_model_seconds_ += seconds_between(begin, EngineClock::now());
    lost_ = error;
    return fail_all(error);
  }
  const EngineClock::time_point now = EngineClock::now();
  step_model_seconds_ += seconds_between(begin, now);
  // From the end of the step before it, if that came later than its own begin.
  const double seconds = seconds_between(std::max(ahead.begin, last_collected_), now);
  last_collected_ = now;
  // A recording of the step behind it delays what is read of this one.
  if (ahead.computed <= kMaxCostRows && ahead.prepared && step_was_prepared_) ahead_cost_.add(ahead.computed, seconds);
  for (size_t row = 0; row < ahead.rows.size(); ++row) {
    Sequence* const sequence = ahead.rows[row].sequence;
    if (sequence != nullptr && !sequence->ended) take_drawn(*sequence, ahead.rows[row].position, ahead.host[row]);
  }
  metrics_.sampling_seconds += seconds_between(now, EngineClock::now());
}

void EngineCore::take_drawn(Sequence& sequence, int64_t position, TokenId token) {
  try {
    if (!sequence.request().prompted) tell_prompt(sequence);
    if (token < 0) fail_without_distribution();
    if (sequence.first_token) ++sequence.decode_steps;
    // A later step has taken it for granted.
    if (sequence.computed > position) memory_.pool().set_tokens(sequence.handle, position, std::span(&token, 1));
    const auto reason = note_choice(sequence, sequence.take(token, context_of(sequence)));
    if (!reason) return;
    if (sequence.computed >= sequence.length()) sequence.computed = memory_.pool().truncate(sequence.handle, sequence.length() - 1);
    end(sequence, *reason);
  } catch (const Error& error) {
    fail(sequence.request(), error);
  }
}

void EngineCore::remove_ended() {
  if (ahead_ != nullptr) {
    bool any = false;
    for (Ahead::Row& row : ahead_->rows) {
      if (row.sequence != nullptr && row.sequence->ended) row.sequence = nullptr;
      any = any || row.sequence != nullptr;
    }
    if (!any) ahead_.reset();
  }
  scheduler_.remove_ended();
}

}  // namespace wick
