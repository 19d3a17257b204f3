#include "wick/engine/engine_core.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "wick/base/atomic_file.h"
#include "wick/base/fail.h"
#include "wick/base/hash.h"
#include "wick/base/mapped_file.h"
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
  const KvPoolOptions one{.context = std::min(context, EngineCore::kDefaultPositions), .step = EngineCore::kDeviceStepRows};
  const int64_t room = options.kv_bytes > 0 ? options.kv_bytes : memory / 2 - static_cast<int64_t>(model.info().file_bytes);
  return std::clamp(room / KvPool::bytes_for(layout, one, 1), SchedulerLimits{}.sequences, kMax);
}

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
          .architecture = of.architecture,
          .device = model.device().location().to_string(),
          .context = context,
          .model_context = of.context_length,
          .vocab_size = of.vocab_size,
          .width = of.width,
          .layers = of.layers,
          .parameters = of.parameters,
          .file_bytes = of.file_bytes,
          .sequences = options.sequences > 0 ? options.sequences : sequences_for(model, options, context),
          .queue = options.queue,
          .step_rows = options.step_rows > 0 ? options.step_rows
                       : on_host             ? SchedulerLimits{}.step_rows
                                             : EngineCore::kDeviceStepRows,
          .embed_tokens = context};
}

}  // namespace

EngineCore::EngineCore(std::shared_ptr<LanguageModel> model, std::shared_ptr<const Tokenizer> tokenizer, const EngineOptions& options,
                       LanguageModel* draft)
    : tokenizer_(std::move(tokenizer)),
      options_(options),
      info_(info_of(*model, options)),
      store_({}),
      scheduler_({.sequences = info_.sequences,
                  .step_rows = info_.step_rows,
                  .max_rows_while_decoding =
                      options.step_rows > 0 ? options.step_rows : std::max(info_.step_rows, SchedulerLimits{}.max_rows_while_decoding),
                  .idle_rows = std::max(kIdleRows, info_.step_rows),
                  .aging = options.aging}) {
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
  if (draft != nullptr) draft_ = std::make_unique<DraftModel>(*draft, model->info(), info_.context, info_.sequences);
  take(std::move(model), true);
  update_gauges();
}

void EngineCore::add(std::shared_ptr<ActiveRequest> request) {
  ++metrics_.requests;
  touched_.push_back(request);
  if (request->request.task == Request::Task::embed) {
    embeddings_.push_back(std::move(request));
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
  if (draft_ != nullptr) draft_->release(sequence);
  sequence.waiting_logits = {};
  if (sequence.ended && sequence.mask() != nullptr) mask_threads_.forget(*sequence.mask());
  if (sequence.handle.empty()) return;
  const ActiveRequest& request = sequence.request();
  if (keep && request.request.cache_prompt && sequence.computed > 0) {
    const auto tokens = pool_->tokens(sequence.handle);
    if (store_.wants(request.cache_identity, tokens)) store_.put(request.cache_identity, tokens, pool_->save(sequence.handle));
  }
  pool_->free(std::exchange(sequence.handle, {}));
  sequence.computed = 0;
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
  for (const auto* list : {&scheduler_.running(), &scheduler_.waiting()}) {
    for (const auto& sequence : *list) {
      if (&sequence->request() != &request || sequence->ended) continue;
      sequence->ended = true;
      touched_.push_back(sequence->shared_request());
      release(*sequence, false);
    }
  }
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
  for (const auto* list : {&scheduler_.running(), &scheduler_.waiting()}) {
    for (const auto& sequence : *list) {
      if (sequence->ended) continue;
      try {
        if (const auto reason = reason_to_end(sequence->request())) end(*sequence, *reason);
      } catch (const std::exception& error) {
        // is_cancelled is the caller's.
        fail(sequence->request(), Error(ErrorCode::invalid_argument, std::string("is_cancelled: ") + error.what()));
      }
    }
  }
  remove_ended();
  std::erase_if(embeddings_, [&](const std::shared_ptr<ActiveRequest>& request) {
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
  for (const auto* list : {&scheduler_.running(), &scheduler_.waiting()}) {
    for (const auto& sequence : *list) sequence->request().stream->cancel();
  }
  for (const auto& request : embeddings_) request->stream->cancel();
  retire();
  swap_if_due();
  publish();
}

void EngineCore::fail_all(const Error& error) {
  for (const auto* list : {&scheduler_.running(), &scheduler_.waiting()}) {
    for (const auto& sequence : *list) {
      if (!sequence->ended) fail(sequence->request(), error);
    }
  }
  for (const auto& request : embeddings_) {
    fail(*request, error);
    touched_.push_back(request);
  }
  embeddings_.clear();
  remove_ended();
  swap_if_due();
  publish();
}

// --- What runs ---

int64_t EngineCore::blocks_of(int64_t positions) const noexcept { return (positions + pool_->block_size() - 1) / pool_->block_size(); }

int64_t EngineCore::available_blocks() const {
  if (!full_group_) return std::numeric_limits<int64_t>::max() / 2;
  const KvPool::Usage usage = pool_->usage(*full_group_);
  return usage.blocks - usage.used;
}

int64_t EngineCore::promised_blocks() const {
  int64_t blocks = 0;
  for (const auto& sequence : scheduler_.running()) {
    blocks += blocks_of(sequence->length()) - blocks_of(sequence->computed) + sequence->slots();
  }
  return blocks;
}

void EngineCore::preempt(Sequence& sequence) {
  ++metrics_.preemptions;
  ++sequence.preemptions;
  release(sequence, true);
  scheduler_.preempt(sequence, EngineClock::now());
}

bool EngineCore::make_slots(const Sequence& sequence) {
  while (sequence.slots() > scheduler_.free_slots()) {
    Sequence* victim = scheduler_.victim();
    if (victim == nullptr || victim->request().request.priority >= sequence.request().request.priority) return false;
    preempt(*victim);
  }
  return true;
}

bool EngineCore::waits_for_shared_prompt(const Sequence& sequence) {
  if (!options_.prefix_cache || !sequence.request().request.cache_prompt || sequence.request().request.prompt_logprobs) return false;
  const auto tokens = sequence.tokens();
  for (const auto& other : scheduler_.running()) {
    if (other->generated() > 0 || other->request().cache_identity != sequence.request().cache_identity) continue;
    const auto theirs = other->tokens();
    const size_t most = std::min(tokens.size() - 1, theirs.size());
    const int64_t common =
        std::mismatch(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(most), theirs.begin()).first - tokens.begin();
    const int64_t shared = common / pool_->block_size() * pool_->block_size();
    // What is still to come of it, and not there by somebody else.
    if (shared <= std::max(other->computed, sequence.expected_prefix)) continue;
    pool_->want_state(other->handle, shared);
    return true;
  }
  return false;
}

void EngineCore::admit() {
  if (scheduler_.waiting().empty()) return;
  for (Sequence* sequence : scheduler_.turns(EngineClock::now())) {
    // The others wait for the next model.
    if (next_model_ != nullptr && sequence->generated() == 0) continue;
    if (!make_slots(*sequence)) break;
    if (waits_for_shared_prompt(*sequence)) continue;
    if (!start(*sequence)) break;
  }
  remove_ended();
}

bool EngineCore::start(Sequence& sequence) {
  const bool alone = scheduler_.running().empty();
  const int64_t wanted = blocks_of(sequence.length()) + sequence.slots();
  const int64_t promised = promised_blocks();
  if (!alone && wanted - blocks_of(sequence.expected_prefix) + promised > available_blocks()) return false;
  try {
    sequence.handle = find_prefix(sequence);
  } catch (const Error& error) {
    fail(sequence.request(), error);
    return true;
  }
  sequence.computed = pool_->length(sequence.handle);
  sequence.expected_prefix = sequence.computed;
  if (!alone && wanted - blocks_of(sequence.computed) + promised > available_blocks()) {
    pool_->free(std::exchange(sequence.handle, {}));
    sequence.computed = 0;
    return false;
  }
  ActiveRequest& request = sequence.request();
  metrics_.prefix_queried_tokens += static_cast<uint64_t>(sequence.length());
  metrics_.prefix_hit_tokens += static_cast<uint64_t>(sequence.computed);
  if (!request.started) {
    request.started = EngineClock::now();
    request.usage.cached_tokens = sequence.computed;
    metrics_.queued.add(seconds_between(request.submitted, *request.started));
  }
  tell_progress(sequence);
  if (sequence.mask() != nullptr) mask_threads_.compute(sequence.mask());
  scheduler_.start(sequence);
  return true;
}

SequenceHandle EngineCore::find_prefix(Sequence& sequence) {
  const ActiveRequest& request = sequence.request();
  const bool wants_whole_prompt = request.request.prompt_logprobs && !request.prompted;
  if (wants_whole_prompt || !options_.prefix_cache) return pool_->create(request.cache_identity);
  // The last token is computed for its logits.
  const auto tokens = sequence.tokens().first(static_cast<size_t>(sequence.length() - 1));
  const SequenceHandle handle = pool_->create_from_prefix(tokens, request.cache_identity);
  const int64_t length = pool_->length(handle);
  if (!store_.enabled() || store_.longest(request.cache_identity, tokens) < length + pool_->block_size()) return handle;
  const std::optional<std::vector<std::byte>> bytes = store_.load(request.cache_identity, tokens);
  if (!bytes) return handle;
  try {
    const SequenceHandle restored = pool_->restore(*bytes, request.cache_identity);
    const auto theirs = pool_->tokens(restored);
    const size_t most = std::min(theirs.size(), tokens.size());
    const int64_t common =
        std::mismatch(theirs.begin(), theirs.begin() + static_cast<std::ptrdiff_t>(most), tokens.begin()).first - theirs.begin();
    if (pool_->truncate(restored, common) <= length) {
      pool_->free(restored);
      return handle;
    }
    metrics_.prefix_restored_tokens += static_cast<uint64_t>(pool_->length(restored) - length);
    pool_->free(handle);
    return restored;
  } catch (const Error&) {
    // There is no room for it, or the file is damaged: its tokens are computed.
    return handle;
  }
}

// --- Sessions ---

void EngineCore::refuse_session() const {
  if (info_.source_tokens == 0) return;
  ::wick::fail(ErrorCode::unsupported, "{} is an encoder–decoder, of which this version saves no sessions", info_.model);
}

int64_t EngineCore::save_session(std::span<const TokenId> tokens, const std::filesystem::path& path) {
  refuse_session();
  ensure_loaded();
  const SequenceHandle handle = pool_->create_from_prefix(tokens);
  std::vector<std::byte> bytes;
  int64_t length = 0;
  try {
    length = pool_->length(handle);
    bytes = pool_->save(handle);
  } catch (...) {
    pool_->free(handle);
    throw;
  }
  pool_->free(handle);
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
  return length;
}

int64_t EngineCore::restore_session(const std::filesystem::path& path) {
  refuse_session();
  ensure_loaded();
  const auto file = MappedFile::open(path);
  const SequenceHandle handle = pool_->restore(file->bytes());
  const int64_t length = pool_->length(handle);
  // Its blocks stay until their memory is needed.
  pool_->free(handle);
  return length;
}

void EngineCore::forget_prefixes() {
  if (pool_ != nullptr) pool_->forget_prefixes();
  store_.clear();
}

void EngineCore::note_load(int64_t embedding) noexcept {
  running_ = std::ssize(scheduler_.running()) + embedding;
  waiting_ = std::ssize(scheduler_.waiting()) + std::ssize(embeddings_);
}

void EngineCore::update_gauges() {
  metrics_.cache_ram_bytes = store_.memory_bytes();
  metrics_.loaded = loaded();
  metrics_.kv_blocks = metrics_.kv_blocks_used = metrics_.kv_blocks_kept = 0;
  if (pool_ == nullptr) return;
  double fullest = -1;
  for (int64_t group = 0; group < pool_->groups(); ++group) {
    const KvPool::Usage usage = pool_->usage(group);
    const double share = static_cast<double>(usage.used) / static_cast<double>(std::max<int64_t>(1, usage.blocks));
    if (share <= fullest) continue;
    fullest = share;
    metrics_.kv_blocks = usage.blocks;
    metrics_.kv_blocks_used = usage.used;
    metrics_.kv_blocks_kept = usage.kept;
  }
}

}  // namespace wick
