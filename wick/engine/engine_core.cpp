#include "wick/engine/engine_core.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/hash.h"
#include "wick/engine/prompt.h"

namespace wick {
namespace {

constexpr int64_t kDefaultContext = 4096;

void check_number(const char* name, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return;
  fail(ErrorCode::invalid_argument, "EngineOptions: {} {}: must be from {} to {}", name, value, least, most);
}

// As many sequences as the memory of a device with kernels has room for.
int64_t sequences_for(const LanguageModel& model, const EngineOptions& options, int64_t context) {
  constexpr int64_t kMax = 256;
  const KvLayout& layout = model.cache_layout();
  const bool is_shared = model.placement() != nullptr && !model.placement()->is_single();
  const auto memory = static_cast<int64_t>(model.device().caps().memory_bytes);
  if (!model.device().runtime().runs_kernels() || memory == 0 || is_shared || !layout.states.empty()) return SchedulerLimits{}.sequences;
  const KvPoolOptions one{.context = std::min(context, SequenceMemory::kDefaultPositions), .step = EngineCore::kDeviceStepRows};
  const int64_t room = options.kv_bytes > 0 ? options.kv_bytes : memory / 2 - static_cast<int64_t>(model.info().file_bytes);
  return std::clamp(room / KvPool::bytes_for(layout, one, 1), SchedulerLimits{}.sequences, kMax);
}

// What is asked of the engine; take() adds what the model is.
EngineInfo info_of(const LanguageModel& model, const EngineOptions& options) {
  const ModelInfo& of = model.info();
  constexpr int64_t kMax = int64_t{1} << 24;
  check_number("sequences", options.sequences, 0, 4096);
  check_number("queue", options.queue, 1, kMax);
  check_number("step_rows", options.step_rows, 0, kMax);
  check_number("kv_bytes", options.kv_bytes, 0, int64_t{1} << 48);
  check_number("cache_ram_bytes", options.cache_ram_bytes, 0, int64_t{1} << 48);
  check_number("speculation.most", options.speculation.most, 0, 256);
  const int64_t context = options.context > 0 ? options.context : std::min(of.context_length, kDefaultContext);
  if (options.context < 0 || context > of.context_length) {
    fail(ErrorCode::invalid_argument, "EngineOptions: context {}: must be from 1 to {}, for which {} was made, or 0", options.context,
         of.longest(), of.name);
  }
  const bool on_host = !model.device().runtime().runs_kernels();
  return {.model = of.name,
          .context = context,
          .vocab_size = of.vocab_size,
          .sequences = options.sequences > 0 ? options.sequences : sequences_for(model, options, context),
          .queue = options.queue,
          .step_rows = options.step_rows > 0 ? options.step_rows
                       : on_host             ? SchedulerLimits{}.step_rows
                                             : EngineCore::kDeviceStepRows};
}

}  // namespace

EngineCore::EngineCore(std::shared_ptr<LanguageModel> model, std::shared_ptr<const Tokenizer> tokenizer, const EngineOptions& options,
                       LanguageModel* draft)
    : tokenizer_(std::move(tokenizer)),
      options_(options),
      info_(info_of(*model, options)),
      scheduler_({.sequences = info_.sequences,
                  .step_rows = info_.step_rows,
                  .max_rows_while_decoding =
                      options.step_rows > 0 ? options.step_rows : std::max(info_.step_rows, SchedulerLimits{}.max_rows_while_decoding),
                  .idle_rows = std::max(SchedulerLimits{}.idle_rows, info_.step_rows),
                  .aging = options.aging}),
      proposer_(options.speculation, nullptr) {
  if (tokenizer_ == nullptr) ::wick::fail(ErrorCode::invalid_argument, "Engine: no tokenizer; load one beside {}", info_.model);
  check_vocabulary(model->info(), *tokenizer_);
  if (options.unload_after.count() > 0 && !options.reload) {
    ::wick::fail(ErrorCode::invalid_argument, "EngineOptions: unload_after without reload: give what loads the model again");
  }
  if (model->info().source_length > 0) {
    if (draft != nullptr) {
      ::wick::fail(ErrorCode::unsupported, "{} is an encoder–decoder, for which this version runs no draft model; leave {} out",
                   info_.model, draft->info().name);
    }
    // What the cache holds of a target depends on all of its source.
    options_.prefix_cache = false;
  }
  if (draft != nullptr) {
    proposer_ = {options.speculation, std::make_unique<DraftModel>(*draft, model->info(), info_.context, info_.sequences)};
  }
  take(std::move(model), true);
  update_gauges();
}

// --- The model ---

void EngineCore::take(std::shared_ptr<LanguageModel> model, bool is_same) {
  for (const AddedAdapter& added : added_adapters_) {
    const auto there = model->adapters();
    const bool is_there = std::any_of(there.begin(), there.end(), [&](const LoadedAdapter& one) { return one.name == added.name; });
    if (!is_there) model->add_adapter(added.name, added.adapter, added.scale);
  }
  const auto names = model->adapters();
  const bool same = std::equal(adapters_.begin(), adapters_.end(), names.begin(), names.begin() + std::min(names.size(), adapters_.size()),
                               [](const LoadedAdapter& left, const LoadedAdapter& right) { return left.name == right.name; });
  // Requests that wait know them by their places.
  if (!same) ::wick::fail(ErrorCode::invalid_argument, "{}: its adapters are not those of the model before it", model->info().name);
  memory_.take(*model, info_, options_, scheduler_.idle_rows(), is_same);
  ahead_.reset();
  model_ = std::move(model);
  adapters_.assign(names.begin(), names.end());
  const Runtime& runtime = model_->device().runtime();
  const bool is_shared = model_->placement() != nullptr && !model_->placement()->is_single();
  // On the host nothing is asynchronous, so no step can be queued ahead.
  may_go_ahead_ = options_.ahead && runtime.runs_kernels() && runtime.op_fallback() == nullptr && !is_shared &&
                  model_->info().vocab_size <= kMaxSampledTokens;
  const ModelInfo& of = model_->info();
  info_.model = of.name;
  info_.architecture = of.architecture;
  info_.device = model_->device().location().to_string();
  info_.model_context = of.context_length;
  info_.width = of.vector_width;
  info_.layers = of.layers;
  info_.parameters = of.parameters;
  info_.file_bytes = of.file_bytes;
  info_.kv_bytes = memory_.pool().bytes();
  info_.kv_positions = memory_.positions().value_or(info_.sequences * info_.context);
  info_.context = std::min(info_.context, info_.kv_positions);
  info_.embed_tokens = info_.context;
  info_.encoder = of.encoder;
  info_.source_tokens = of.source_length;
  info_.target_tokens = of.target_length;
  info_.target_start = of.target_start;
  info_.pooling = options_.pooling.value_or(of.pooling);
  info_.embeds_each_token = options_.embeds_each_token;
  info_.classifier = of.classifier;
  info_.prompts = of.prompts;
  proposer_.take(*model_, info_.context);
}

void EngineCore::ensure_loaded() {
  if (loaded()) return;
  std::shared_ptr<LanguageModel> model = options_.reload();
  if (model == nullptr) ::wick::fail(ErrorCode::not_found, "EngineOptions: reload gave no model");
  check_swap(info_, *model);
  take(std::move(model), true);
  ++metrics_.reloads;
}

bool EngineCore::unload() {
  if (!options_.reload)
    ::wick::fail(ErrorCode::invalid_argument, "Engine: unload needs EngineOptions::reload, which loads the model again");
  if (!idle()) return false;
  ahead_.reset();
  memory_.unload();
  model_.reset();
  host_logits_ = {};
  update_gauges();
  return true;
}

void EngineCore::add_adapter(const std::string& name, std::shared_ptr<const LoraAdapter> adapter, float scale) {
  ensure_loaded();
  model_->add_adapter(name, adapter, scale);
  added_adapters_.push_back({name, std::move(adapter), scale});
  adapters_.assign(model_->adapters().begin(), model_->adapters().end());
}

void EngineCore::check_swap(const EngineInfo& info, const LanguageModel& model) {
  const ModelInfo& of = model.info();
  if (of.vocab_size != info.vocab_size) {
    ::wick::fail(ErrorCode::invalid_argument, "{} has {} tokens and {} has {}: only a model of the same vocabulary can take over", of.name,
                 of.vocab_size, info.model, info.vocab_size);
  }
  if (of.source_length != info.source_tokens || of.target_start != info.target_start) {
    ::wick::fail(ErrorCode::invalid_argument, "{} cannot take over from {}: sources or the tokens that answers begin with are not the same",
                 of.name, info.model);
  }
  if (of.context_length < info.context) {
    ::wick::fail(ErrorCode::invalid_argument, "{} was made for {} positions and the engine's context has {}: it cannot take over", of.name,
                 of.context_length, info.context);
  }
}

bool EngineCore::has_begun() const {
  if (!scheduler_.running().empty()) return true;
  const auto& waiting = scheduler_.waiting();
  return std::any_of(waiting.begin(), waiting.end(), [](const auto& sequence) { return sequence->generated() > 0; });
}

void EngineCore::swap_model(std::shared_ptr<LanguageModel> model, std::promise<void> done) {
  if (next_model_ != nullptr) {
    swapped_.set_exception(std::make_exception_ptr(
        Error(ErrorCode::invalid_argument, "another model was given before this one had taken over: " + next_model_->info().name)));
  }
  next_model_ = std::move(model);
  swapped_ = std::move(done);
  swap_if_due();
}

void EngineCore::swap_if_due() {
  if (next_model_ == nullptr || has_begun()) return;
  try {
    take(std::exchange(next_model_, nullptr), false);
    swapped_.set_value();
  } catch (...) {
    swapped_.set_exception(std::current_exception());
  }
}

// --- Requests ---

void EngineCore::add(std::shared_ptr<ActiveRequest> request) {
  ++metrics_.requests;
  touched_.push_back(request);
  if (request->request.task == Request::Task::embed) {
    embeddings_.add(std::move(request));
    return;
  }
  if (!request->request.cache_prompt) request->cache_identity = split_mix(++private_identities_ ^ process_hash_key().first);
  try {
    scheduler_.queue(std::make_unique<Sequence>(request, 0, tokenizer_));
  } catch (const Error& error) {
    fail(*request, error);
  }
}

// --- Ends ---

void EngineCore::release(Sequence& sequence, bool keep) {
  proposer_.release(sequence);
  sequence.waiting_logits = {};
  if (sequence.mask() != nullptr) mask_threads_.forget(*sequence.mask());
  memory_.release(sequence, keep);
}

void EngineCore::end(Sequence& sequence, StopReason reason) {
  const EngineClock::time_point now = EngineClock::now();
  // The choices that it would have had end with it.
  const int64_t choices = sequence.slots();
  for (int64_t choice = 1; choice < choices; ++choice) Sequence(sequence.shared_request(), choice, tokenizer_).finish(reason, now);
  sequence.finish(reason, now);
  sequence.ended = true;
  metrics_.finished[static_cast<size_t>(reason)] += static_cast<uint64_t>(choices);
  if (sequence.first_token) metrics_.decode.add(seconds_between(*sequence.first_token, now));
  const ActiveRequest& request = sequence.request();
  if (request.open == 0) metrics_.end_to_end.add(seconds_between(request.submitted, now));
  touched_.push_back(sequence.shared_request());
  release(sequence, true);
}

void EngineCore::fail(ActiveRequest& request, const Error& error) {
  ++metrics_.failed;
  const bool can_retry = error.code() == ErrorCode::out_of_memory || error.code() == ErrorCode::device_lost;
  request.stream->push(
      ErrorEvent{.code = error.code(), .message = problem_of(error), .can_retry = can_retry, .remedies = remedies_of(error)}, true);
  scheduler_.for_each([&](Sequence& sequence) {
    if (&sequence.request() != &request || sequence.ended) return;
    sequence.ended = true;
    touched_.push_back(sequence.shared_request());
    release(sequence, false);
  });
}

void EngineCore::retire() {
  const EngineClock::time_point now = EngineClock::now();
  const auto reason_to_end = [now](const ActiveRequest& request) -> std::optional<StopReason> {
    const GenerationParams& params = request.request.params;
    if (!request.stream->cancelled() && params.is_cancelled && params.is_cancelled()) request.stream->cancel();
    if (request.stream->cancelled()) return StopReason::cancelled;
    if (request.request.deadline && now >= *request.request.deadline) return StopReason::deadline;
    return std::nullopt;
  };
  scheduler_.for_each([&](Sequence& sequence) {
    if (sequence.ended) return;
    try {
      if (const auto reason = reason_to_end(sequence.request())) end(sequence, *reason);
    } catch (const std::exception& error) {
      // is_cancelled is the caller's.
      fail(sequence.request(), Error(ErrorCode::invalid_argument, std::string("is_cancelled: ") + error.what()));
    }
  });
  remove_ended();
  embeddings_.remove_if([&](const std::shared_ptr<ActiveRequest>& request) {
    std::optional<StopReason> reason;
    try {
      reason = reason_to_end(*request);
    } catch (const std::exception&) {
      reason = StopReason::cancelled;
    }
    if (!reason) return false;
    request->stream->push(FinishEvent{.reason = *reason, .usage = {.prompt_tokens = std::ssize(request->prompt)}}, true);
    ++metrics_.finished[static_cast<size_t>(*reason)];
    touched_.push_back(request);
    return true;
  });
}

void EngineCore::cancel_all() {
  scheduler_.for_each([](const Sequence& sequence) { sequence.request().stream->cancel(); });
  for (const auto& request : embeddings_.waiting()) request->stream->cancel();
  retire();
  swap_if_due();
  publish();
}

void EngineCore::fail_all(const Error& error) {
  scheduler_.for_each([&](const Sequence& sequence) {
    if (!sequence.ended) fail(sequence.request(), error);
  });
  for (const auto& request : embeddings_.waiting()) {
    fail(*request, error);
    touched_.push_back(request);
  }
  embeddings_.clear();
  remove_ended();
  swap_if_due();
  publish();
}

// --- What runs ---

void EngineCore::admit() {
  if (scheduler_.waiting().empty()) return;
  // The others wait for the next model.
  const Admission admission = scheduler_.admit(memory_, next_model_ != nullptr);
  metrics_.prefix_restored_tokens += static_cast<uint64_t>(admission.restored_tokens);
  for (const auto& [sequence, cached] : admission.started) {
    ActiveRequest& request = sequence->request();
    metrics_.prefix_queried_tokens += static_cast<uint64_t>(sequence->length());
    metrics_.prefix_hit_tokens += static_cast<uint64_t>(cached);
    if (!request.started) {
      request.started = EngineClock::now();
      request.usage.cached_tokens = cached;
      metrics_.queued.add(seconds_between(request.submitted, *request.started));
    }
    tell_progress(*sequence);
    if (sequence->mask() != nullptr) mask_threads_.compute(sequence->mask());
  }
  note_preempted(admission.preempted);
  for (const auto& [sequence, failure] : admission.failed) {
    try {
      std::rethrow_exception(failure);
    } catch (const Error& error) {
      if (!sequence->ended) fail(sequence->request(), error);
    }
  }
  remove_ended();
}

void EngineCore::note_preempted(std::span<Sequence* const> sequences) {
  metrics_.preemptions += sequences.size();
  for (Sequence* const sequence : sequences) proposer_.release(*sequence);
}

// --- Sessions ---

void EngineCore::refuse_session() const {
  if (info_.source_tokens == 0) return;
  ::wick::fail(ErrorCode::unsupported, "{} is an encoder–decoder, of which this version saves no sessions", info_.model);
}

int64_t EngineCore::save_session(std::span<const TokenId> tokens, const std::filesystem::path& path) {
  refuse_session();
  ensure_loaded();
  return memory_.save(tokens, path);
}

int64_t EngineCore::restore_session(const std::filesystem::path& path) {
  refuse_session();
  ensure_loaded();
  return memory_.restore(path);
}

void EngineCore::note_load(int64_t embedding) noexcept {
  running_ = std::ssize(scheduler_.running()) + embedding;
  waiting_ = std::ssize(scheduler_.waiting()) + std::ssize(embeddings_.waiting());
}

void EngineCore::update_gauges() {
  metrics_.cache_ram_bytes = memory_.host_bytes();
  metrics_.tokens_in_flight = 0;
  scheduler_.for_each([this](const Sequence& one) { metrics_.tokens_in_flight += one.length(); });
  metrics_.loaded = loaded();
  const KvPool::Usage usage = memory_.fullest();
  metrics_.kv_blocks = usage.blocks;
  metrics_.kv_blocks_used = usage.used;
  metrics_.kv_blocks_kept = usage.kept;
}

}  // namespace wick
