#include "wick/engine/engine.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <exception>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/hash.h"
#include "wick/device/random_stream.h"
#include "wick/engine/engine_core.h"
#include "wick/engine/prompt.h"
#include "wick/formats/printable.h"
#include "wick/model/architectures/architecture.h"
#include "wick/model/lora/lora_adapter.h"

namespace wick {
namespace {

std::string described(const std::vector<ParameterViolation>& violations) {
  std::string text;
  for (const ParameterViolation& violation : violations) {
    text += fmt::format("{}{} {}: {}", text.empty() ? "" : "; ", violation.parameter, violation.value, violation.constraint);
  }
  return text;
}

// Other in each process: nobody can choose a salt that stands for another.
uint64_t identity_of(std::string_view salt) { return salt.empty() ? 0 : keyed_hash(salt, process_hash_key()) | 1; }

std::string names_of(std::span<const LoadedAdapter> adapters) {
  std::string names;
  for (const LoadedAdapter& adapter : adapters) names += (names.empty() ? "" : ", ") + printable(adapter.name);
  return names.empty() ? "there are none" : "there are " + names;
}

}  // namespace

// What threads share, around the core that one of them runs.
class EngineLoop {
 public:
  EngineLoop(std::shared_ptr<LanguageModel> model, std::shared_ptr<const Tokenizer> tokenizer, const EngineOptions& options,
             LanguageModel* draft)
      : core_(std::move(model), tokenizer, options, draft),
        tokenizer_(std::move(tokenizer)),
        unload_after_(options.unload_after),
        info_(core_.info()),
        metrics_(core_.metrics()) {
    adapters_.assign(core_.adapters().begin(), core_.adapters().end());
  }

  ~EngineLoop() {
    stop();
    core_.flush_prefixes();
  }

  [[nodiscard]] EngineInfo info() const {
    const std::lock_guard lock(mutex_);
    return info_;
  }
  [[nodiscard]] const Tokenizer& tokenizer() const noexcept { return *tokenizer_; }

  [[nodiscard]] EngineMetrics metrics() const {
    const std::lock_guard lock(mutex_);
    EngineMetrics now = metrics_;
    now.refused = refused_;
    now.requests += incoming_.size();
    now.running = core_.running();
    now.waiting = core_.waiting() + std::ssize(incoming_);
    now.seconds_since_step = seconds_between(last_step_, EngineClock::now());
    return now;
  }

  Stream submit(Request request);
  std::vector<TokenId> encode(std::string_view prompt, bool parse_special) const {
    const EngineInfo of = info();
    // A source is a whole text.
    return (of.source_tokens > 0 ? encode_embedded : encode_prompt)(*tokenizer_, of.model, prompt, parse_special);
  }

  std::vector<TokenId> tokens_of(const Request& request, const EngineInfo& info) const {
    if (!request.tokens.empty()) return request.tokens;
    const bool parse_special = request.params.parse_special;
    if (request.task == Request::Task::embed) return encode_embedded(*tokenizer_, info.model, request.prompt, parse_special);
    return encode(request.prompt, parse_special);
  }

  void add_adapter(const std::string& name, const std::filesystem::path& path, float scale);
  [[nodiscard]] std::vector<LoadedAdapter> adapters() const {
    const std::lock_guard lock(mutex_);
    return adapters_;
  }

  bool step();
  void start();
  bool drain(std::chrono::nanoseconds time);
  void stop();
  [[nodiscard]] bool accepts() const {
    const std::lock_guard lock(mutex_);
    return !draining_ && !lost_;
  }

  // Runs a function between two steps, on the thread that runs them, and returns what it returns.
  template <class Function>
  auto between_steps(Function function) {
    using Result = decltype(function(core_));
    std::packaged_task<Result()> task([this, function = std::move(function)] { return function(core_); });
    std::future<Result> result = task.get_future();
    {
      const std::lock_guard lock(mutex_);
      if (threaded_ && !ended_) {
        tasks_.emplace_back([&task] { task(); });
        wake_.notify_all();
      } else {
        task();
      }
    }
    return result.get();
  }

 private:
  static void check(const Request& request, const EngineInfo& info);
  static void check_length(const Request& request, size_t tokens, const EngineInfo& info);
  // The adapters that a request names, by their numbers, and the identity of its prefixes with them; with the lock.
  // Errors: invalid_argument, naming the adapter.
  void choose_adapters(ActiveRequest& request) const;
  // Refuses where the queue is full; with the lock.
  void require_room();
  void run();
  // With the lock.
  [[nodiscard]] bool has_work() const { return !core_idle_ || !incoming_.empty() || !tasks_.empty(); }
  void note_step();

  EngineCore core_;  // the stepping thread's
  const std::shared_ptr<const Tokenizer> tokenizer_;
  const std::chrono::milliseconds unload_after_;

  mutable std::mutex mutex_;  // of all that follows
  std::condition_variable wake_, idle_;
  EngineInfo info_;
  std::deque<std::shared_ptr<ActiveRequest>> incoming_;
  std::deque<std::function<void()>> tasks_;
  EngineMetrics metrics_;
  std::vector<LoadedAdapter> adapters_;  // the model's
  uint64_t refused_ = 0, last_id_ = 0;
  bool core_idle_ = true;
  bool draining_ = false, lost_ = false, cancelling_ = false, stopping_ = false, threaded_ = false, ended_ = false;
  EngineClock::time_point last_step_ = EngineClock::now();
  // Between ends of requests, lately: how soon the queue has a place again.
  double end_interval_ = 1;
  uint64_t ends_ = 0;
  EngineClock::time_point last_end_ = EngineClock::now();
  std::mutex join_mutex_;  // stop() may be called by several
  std::thread thread_;
};

void EngineLoop::check(const Request& request, const EngineInfo& info) {
  const std::vector<ParameterViolation> violations = find_violations(request, info);
  if (!violations.empty()) fail(ErrorCode::invalid_argument, "{}", described(violations));
  if (info.encoder && request.task == Request::Task::generate) {
    fail(ErrorCode::invalid_argument, "{} is an encoder ({}): it gives vectors or scores of texts and writes none; take a decoder to write",
         info.model, info.architecture);
  }
  if (info.source_tokens > 0 && request.task == Request::Task::embed) {
    fail(ErrorCode::invalid_argument, "{} is an encoder–decoder ({}): it writes texts and gives no vectors or scores; take an encoder",
         info.model, info.architecture);
  }
  if (info.source_tokens > 0 && request.prompt_logprobs) {
    fail(ErrorCode::invalid_argument, "prompt_logprobs: {} is an encoder–decoder ({}), whose prompt has no probabilities", info.model,
         info.architecture);
  }
  for (const TokenId token : request.tokens) {
    if (token >= 0 && token < info.vocab_size) continue;
    fail(ErrorCode::index_out_of_range, "tokens: {} is outside the vocabulary of {}, which has {} tokens", token, info.model,
         info.vocab_size);
  }
}

void EngineLoop::check_length(const Request& request, size_t tokens, const EngineInfo& info) {
  const bool is_source = info.source_tokens > 0;
  const auto of_context = info.context - std::ssize(info.target_start);
  const auto most = request.task == Request::Task::embed ? info.embed_tokens
                    : is_source                          ? std::min(info.source_tokens, of_context)
                                                         : info.context;
  if (static_cast<int64_t>(tokens) <= most) return;
  fail_prompt_too_long(static_cast<int64_t>(tokens), most, is_source ? info.source_tokens : info.model_context);
}

void EngineLoop::require_room() {
  const auto busy = [this](EngineBusy::Reason reason, double seconds, const std::string& message) {
    ++refused_;
    throw EngineBusy(reason, std::chrono::seconds(static_cast<int64_t>(std::ceil(seconds))), message);
  };
  if (lost_) busy(EngineBusy::Reason::failed, 0, "the engine's device was lost; restart it");
  if (draining_) busy(EngineBusy::Reason::draining, 0, "the engine takes no more requests: it is being stopped");
  const int64_t waiting = core_.waiting() + std::ssize(incoming_);
  if (waiting < info_.queue) return;
  const double seconds = std::clamp(end_interval_, 1.0, 300.0);
  busy(EngineBusy::Reason::queue_full, seconds,
       fmt::format("{} requests wait, which is the most; come back in {:.0f} s", waiting, std::ceil(seconds)));
}

Stream EngineLoop::submit(Request request) {
  const EngineClock::time_point now = EngineClock::now();
  {
    // Before its prompt costs anything.
    const std::lock_guard lock(mutex_);
    require_room();
  }
  const EngineInfo info = this->info();
  check(request, info);
  auto active = std::make_shared<ActiveRequest>();
  active->prompt = tokens_of(request, info);
  if (request.task == Request::Task::embed) {
    active->prompt = truncated(*tokenizer_, std::move(active->prompt), info.embed_tokens, request.truncation, request.second);
  }
  check_length(request, active->prompt.size(), info);
  active->usage.prompt_tokens = std::ssize(active->prompt);
  if (info.source_tokens > 0) {
    active->source = std::ssize(active->prompt);
    active->prompt.insert(active->prompt.end(), info.target_start.begin(), info.target_start.end());
  }
  active->cache_identity = identity_of(request.cache_salt);
  active->seed = request.params.sampling.seed ? *request.params.sampling.seed : draw_seed();
  active->submitted = now;
  active->open = request.choices();
  // Refuses bad stop strings here and not on the engine's thread.
  (void)StopStrings(request.params.stop);
  active->request = std::move(request);
  const std::lock_guard lock(mutex_);
  require_room();
  choose_adapters(*active);
  active->order = ++last_id_;
  active->stream = std::make_shared<StreamState>(last_id_, nullptr);
  Stream stream(active->stream);
  incoming_.push_back(std::move(active));
  wake_.notify_all();
  return stream;
}

void EngineLoop::choose_adapters(ActiveRequest& request) const {
  for (const AdapterChoice& choice : request.request.params.adapters) {
    const auto found = std::find_if(adapters_.begin(), adapters_.end(), [&](const auto& adapter) { return adapter.name == choice.name; });
    if (found == adapters_.end()) {
      fail(ErrorCode::invalid_argument, "adapters: {} is not loaded; {}", printable(choice.name), names_of(adapters_));
    }
    const AdapterUse use{static_cast<int32_t>(found - adapters_.begin()) + 1, choice.scale.value_or(found->scale)};
    for (const AdapterUse& other : request.adapters) {
      if (other.adapter == use.adapter) fail(ErrorCode::invalid_argument, "adapters: {} is named twice", printable(choice.name));
    }
    request.adapters.push_back(use);
    request.cache_identity = split_mix(request.cache_identity ^ found->identity) + std::bit_cast<uint32_t>(use.scale);
    request.cache_identity = split_mix(request.cache_identity) | 1;
  }
}

void EngineLoop::add_adapter(const std::string& name, const std::filesystem::path& path, float scale) {
  const EngineInfo info = this->info();
  const Architecture* architecture = find_architecture(info.architecture);
  if (architecture == nullptr) fail(ErrorCode::unsupported, "adapter {}: {} takes no adapters", printable(name), info.model);
  if (info.source_tokens > 0) {
    fail(ErrorCode::unsupported, "adapter {}: this version runs no adapters of encoder–decoders such as {}; merge it into the model",
         printable(name), info.model);
  }
  auto adapter = LoraAdapter::open(path, *architecture);
  std::vector<LoadedAdapter> now = between_steps([&](EngineCore& core) {
    core.add_adapter(name, std::move(adapter), scale);
    return std::vector<LoadedAdapter>(core.adapters().begin(), core.adapters().end());
  });
  const std::lock_guard lock(mutex_);
  // Another call may have added more since.
  if (now.size() > adapters_.size()) adapters_ = std::move(now);
}

void EngineLoop::note_step() {
  const EngineMetrics& now = core_.metrics();
  uint64_t ends = now.failed;
  for (const uint64_t count : now.finished) ends += count;
  const std::lock_guard lock(mutex_);
  last_step_ = EngineClock::now();
  if (ends > ends_) {
    const double each = seconds_between(last_end_, last_step_) / static_cast<double>(ends - ends_);
    end_interval_ += 0.2 * (each - end_interval_);
    ends_ = ends;
    last_end_ = last_step_;
  }
  metrics_ = now;
  if (info_.model != core_.info().model || info_.file_bytes != core_.info().file_bytes) info_ = core_.info();
  core_idle_ = core_.idle();
  lost_ = core_.lost().has_value();
  if (!has_work()) idle_.notify_all();
}

bool EngineLoop::step() {
  std::deque<std::shared_ptr<ActiveRequest>> incoming;
  std::deque<std::function<void()>> tasks;
  bool cancels = false;
  {
    const std::lock_guard lock(mutex_);
    incoming.swap(incoming_);
    tasks.swap(tasks_);
    cancels = cancelling_;
    core_idle_ = core_idle_ && incoming.empty();
    core_.expect(std::ssize(incoming));
  }
  for (auto& request : incoming) core_.add(std::move(request));
  for (const auto& task : tasks) task();
  if (core_.lost()) {
    core_.fail_all(*core_.lost());
  } else if (cancels) {
    core_.cancel_all();
  } else if (!core_.idle()) {
    try {
      core_.step();
    } catch (const std::exception& error) {
      // What is not told of a request's own fault: memory for the host's part of a step.
      core_.fail_all(Error(ErrorCode::out_of_memory, error.what()));
    }
  } else {
    core_.publish();
  }
  note_step();
  const std::lock_guard lock(mutex_);
  return has_work();
}

void EngineLoop::run() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      const auto is_wanted = [&] { return has_work() || stopping_; };
      if (unload_after_.count() == 0 || !core_.loaded()) {
        wake_.wait(lock, is_wanted);
      } else if (!wake_.wait_for(lock, unload_after_, is_wanted)) {
        lock.unlock();
        (void)core_.unload();
        note_step();
        continue;
      }
      if (stopping_ && !has_work()) {
        ended_ = true;
        idle_.notify_all();
        return;
      }
    }
    (void)step();
  }
}

void EngineLoop::start() {
  const std::lock_guard lock(mutex_);
  if (threaded_ || draining_) return;
  thread_ = std::thread([this] { run(); });
  threaded_ = true;
}

bool EngineLoop::drain(std::chrono::nanoseconds time) {
  const EngineClock::time_point until = EngineClock::now() + time;
  std::unique_lock lock(mutex_);
  draining_ = true;
  if (threaded_) {
    const bool done = idle_.wait_until(lock, until, [&] { return !has_work(); });
    if (done) return true;
    cancelling_ = true;
    wake_.notify_all();
    idle_.wait(lock, [&] { return !has_work(); });
    return false;
  }
  while (has_work()) {
    cancelling_ = EngineClock::now() >= until;
    lock.unlock();
    (void)step();
    lock.lock();
    if (cancelling_) return false;
  }
  return true;
}

void EngineLoop::stop() {
  (void)drain(std::chrono::nanoseconds(0));
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  const std::lock_guard joining(join_mutex_);
  if (thread_.joinable()) thread_.join();
}

// A model of the caller's is not the engine's to end.
Engine::Engine(LanguageModel& model, std::shared_ptr<const Tokenizer> tokenizer, const EngineOptions& options, LanguageModel* draft)
    : Engine(std::shared_ptr<LanguageModel>(std::shared_ptr<void>(), &model), std::move(tokenizer), options, draft) {}

Engine::Engine(std::shared_ptr<LanguageModel> model, std::shared_ptr<const Tokenizer> tokenizer, const EngineOptions& options,
               LanguageModel* draft)
    : loop_(std::make_unique<EngineLoop>(std::move(model), std::move(tokenizer), options, draft)) {}

Engine::~Engine() = default;

EngineInfo Engine::info() const { return loop_->info(); }
const Tokenizer& Engine::tokenizer() const noexcept { return loop_->tokenizer(); }
EngineMetrics Engine::metrics() const { return loop_->metrics(); }
Stream Engine::submit(Request request) { return loop_->submit(std::move(request)); }

std::vector<TokenId> Engine::encode_prompt(std::string_view prompt, bool parse_special) const {
  return loop_->encode(prompt, parse_special);
}

void Engine::add_adapter(const std::string& name, const std::filesystem::path& path, float scale) { loop_->add_adapter(name, path, scale); }
std::vector<LoadedAdapter> Engine::adapters() const { return loop_->adapters(); }

bool Engine::step() { return loop_->step(); }
void Engine::start() { loop_->start(); }
bool Engine::drain(std::chrono::nanoseconds time) { return loop_->drain(time); }
void Engine::stop() { loop_->stop(); }
bool Engine::accepts() const { return loop_->accepts(); }

int64_t Engine::save_session(std::span<const TokenId> tokens, const std::filesystem::path& path) {
  return loop_->between_steps([&](EngineCore& core) { return core.save_session(tokens, path); });
}

int64_t Engine::restore_session(const std::filesystem::path& path) {
  return loop_->between_steps([&](EngineCore& core) { return core.restore_session(path); });
}

void Engine::warm_up() {
  loop_->between_steps([](EngineCore& core) { core.warm_up(); });
}

std::future<void> Engine::swap_model(std::shared_ptr<LanguageModel> model) {
  EngineCore::check_swap(info(), *model);
  std::promise<void> done;
  std::future<void> result = done.get_future();
  loop_->between_steps([&](EngineCore& core) { core.swap_model(std::move(model), std::move(done)); });
  return result;
}

bool Engine::unload() {
  return loop_->between_steps([](EngineCore& core) { return core.unload(); });
}

void Engine::forget_prefixes() {
  loop_->between_steps([](EngineCore& core) { core.forget_prefixes(); });
}

}  // namespace wick
