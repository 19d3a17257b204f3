#include "wick/server/model_pool.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/unused_memory.h"
#include "wick/server/setting_flags.h"

namespace wick::server {
namespace {

using Clock = std::chrono::steady_clock;

// Thrown out of a load that nobody waits for any more.
struct PoolStopped {};

constexpr std::chrono::milliseconds kPoll{20};   // between two looks at a model whose last requests end
constexpr std::chrono::milliseconds kTick{250};  // between two looks for models that were not used for a while
constexpr std::string_view kLatest = ":latest";  // what Ollama's clients add to a name

// Endpoints that a model of texts' vectors answers.
constexpr std::array kEmbeddingPaths = {"/v1/embeddings", "/openai/v1/embeddings",
                                        "/embeddings",    "/embedding",
                                        "/api/embed",     "/api/embeddings",
                                        "/v1/rerank",     "/v1/reranking",
                                        "/rerank",        "/reranking",
                                        "/classify",      "/v1/classify",
                                        "/embed",         "/tokenize",
                                        "/detokenize",    "/props",
                                        "/api/show",      "/lora-adapters",
                                        "/slots"};

double mebibytes(uint64_t bytes) { return std::ceil(static_cast<double>(bytes) / (1U << 20U)); }

// The model that a request names: in its query, or its body; "name" is an older word of Ollama's.
std::string model_of(const HttpRequest& request) {
  if (const auto named = request.query_value("model")) return std::string(*named);
  if (request.body.empty()) return {};
  const Json& body = request.json();
  if (!body.is_object()) return {};
  for (const char* key : {"model", "name"}) {
    const auto found = body.find(key);
    if (found == body.end() || found->is_null() || (key == std::string_view("name") && !request.path.starts_with("/api/"))) continue;
    if (!found->is_string()) throw ApiError({{.field = key, .constraint = "must be a text", .value = ""}});
    return found->get<std::string>();
  }
  return {};
}

ApiError loading_error(const std::string& name, const std::exception& thrown) {
  if (const auto* error = dynamic_cast<const Error*>(&thrown)) {
    const std::string message =
        message_of(*error, [](Setting setting, const std::string& value) { return with_value(flag_of(setting), value); });
    if (error->code() == ErrorCode::out_of_memory) {
      return ApiError(503, "INSUFFICIENT_MEMORY", fmt::format("model {}: there is no memory for it: {}", name, message))
          .retry_after(std::chrono::seconds(5));
    }
    return {503, "MODEL_LOADING_FAILED", fmt::format("model {} could not be loaded: {}", name, message)};
  }
  return {503, "MODEL_LOADING_FAILED", fmt::format("model {} could not be loaded: {}", name, thrown.what())};
}

ApiError stopping_error() { return ApiError(503, "NOT_READY", "the server is stopping").retry_after(std::chrono::seconds(1)); }

void respond_success(const Exchange& exchange) { exchange->respond(json_response(200, to_text({{"success", true}}))); }

}  // namespace

std::string_view to_string(ModelPool::State state) noexcept {
  switch (state) {
    case ModelPool::State::unloaded: return "unloaded";
    case ModelPool::State::loading: return "loading";
    case ModelPool::State::loaded: return "loaded";
    case ModelPool::State::unloading: return "unloading";
  }
  return "";
}

struct ModelPool::Entry {
  Entry(PooledModel chosen, const WorkerOptions& options, Access& access)
      : model(std::move(chosen)), worker(options), router(access, BrowserAccess({})) {}

  // Whether a request is under way: each holds the service.
  [[nodiscard]] bool is_busy() const { return worker.service_if_ready().use_count() > 2; }

  const PooledModel model;
  Worker worker;
  Router router;
  State state = State::unloaded;
  Clock::time_point used = {};
  uint64_t cache_bytes = 0;  // of its KV cache, once it was loaded
  std::string failure = {};
  std::vector<Waiting> waiting = {};
};

ModelPool::ModelPool(PoolOptions options, const WorkerOptions& worker, Access& access, const AddRoutes& add_routes, Log log)
    : options_(std::move(options)), log_(std::move(log)) {
  for (PooledModel& model : options_.models) {
    WorkerOptions own = worker;
    own.model_ref = model.name;
    Entry& entry = *entries_.emplace_back(std::make_unique<Entry>(std::move(model), own, access));
    add_routes(entry.router, entry.worker);
    names_.emplace(entry.model.name, &entry);
    for (const std::string& name : entry.model.aliases) names_.emplace(name, &entry);
    for (const std::string& name : entry.model.adapters) names_.emplace(name, &entry);
    if (entry.model.is_preloaded) {
      entry.state = State::loading;
      wanted_.push_back(&entry);
    }
  }
}

ModelPool::~ModelPool() = default;

ModelPool::Entry& ModelPool::find(std::string_view name) const {
  if (name.empty()) return *entries_.front();
  auto found = names_.find(name);
  if (found == names_.end() && name.ends_with(kLatest)) found = names_.find(name.substr(0, name.size() - kLatest.size()));
  if (found != names_.end()) return *found->second;
  std::string all;
  for (const auto& entry : entries_) all += (all.empty() ? "" : ", ") + entry->model.name;
  throw ApiError(404, "model_not_found", fmt::format("no model {}; this server has {}", name, all));
}

Worker& ModelPool::worker(std::string_view name) { return find(name).worker; }

void ModelPool::add_model_routes(Router& router) {
  router.add_routes_of(entries_.front()->router, [this](HttpRequest& request, const Exchange& exchange) { handle(request, exchange); });
}

void ModelPool::handle(HttpRequest& request, const Exchange& exchange) {
  Entry& entry = find(model_of(request));
  if (entry.model.only_embeds && std::find(kEmbeddingPaths.begin(), kEmbeddingPaths.end(), request.path) == kEmbeddingPaths.end()) {
    throw ApiError(
        400, "INVALID_REQUEST",
        fmt::format("model {} makes vectors of texts and generates none; use /v1/embeddings, or name another model", entry.model.name));
  }
  std::shared_ptr<Service> service;  // held while the request becomes an answer, which holds it then
  {
    const std::scoped_lock lock(mutex_);
    if (entry.state == State::loaded) {
      service = entry.worker.service_if_ready();
      entry.used = Clock::now();
    } else {
      request.parsed.reset();  // it may wait for long
      wait_for(entry, {.request = std::move(request), .exchange = exchange});
    }
  }
  if (service != nullptr) entry.router.forward(request, exchange);
}

void ModelPool::wait_for(Entry& entry, Waiting waiting) {
  if (stops_) throw stopping_error();
  if (entry.waiting.size() >= options_.queue) {
    throw ApiError(429, "QUEUE_FULL", fmt::format("{} requests wait for model {} to be loaded", entry.waiting.size(), entry.model.name))
        .retry_after(std::chrono::seconds(1));
  }
  entry.waiting.push_back(std::move(waiting));
  if (entry.state != State::unloaded) return;
  entry.state = State::loading;
  wanted_.push_back(&entry);
  changed_.notify_all();
}

void ModelPool::load(std::string_view name, const Exchange& exchange) {
  Entry& entry = find(name);
  const std::scoped_lock lock(mutex_);
  if (entry.state != State::loaded) return wait_for(entry, {.request = std::nullopt, .exchange = exchange});
  entry.used = Clock::now();
  respond_success(exchange);
}

void ModelPool::unload(std::string_view name, const Exchange& exchange) {
  Entry& entry = find(name);
  const std::scoped_lock lock(mutex_);
  if (stops_) throw stopping_error();
  if (entry.state == State::loading) {
    throw ApiError(409, "MODEL_BUSY", fmt::format("model {} is loading; try again when it is loaded", entry.model.name))
        .retry_after(std::chrono::seconds(1));
  }
  unloads_.push_back({.entry = &entry, .exchange = exchange});
  changed_.notify_all();
}

std::vector<ModelPool::Row> ModelPool::rows() const {
  const std::scoped_lock lock(mutex_);
  std::vector<Row> rows;
  for (const auto& entry : entries_) {
    rows.push_back({.model = entry->model,
                    .state = entry->state,
                    .failure = entry->failure,
                    .service = entry->worker.service_if_ready(),
                    .worker = entry->worker});
  }
  return rows;
}

void ModelPool::run() {
  Lock lock(mutex_);
  const bool looks = std::any_of(entries_.begin(), entries_.end(), [](const auto& entry) { return entry->model.unload_after.count() > 0; });
  while (!stops_) {
    if (!unloads_.empty()) {
      const Unloading next = std::move(unloads_.front());
      unloads_.pop_front();
      unload_wanted(next, lock);
    } else if (!wanted_.empty()) {
      Entry& entry = *wanted_.front();
      wanted_.pop_front();
      load_wanted(entry, lock);
    } else if (looks) {
      unload_idle(lock);
      changed_.wait_for(lock, kTick, [this] { return stops_ || !wanted_.empty() || !unloads_.empty(); });
    } else {
      changed_.wait(lock, [this] { return stops_ || !wanted_.empty() || !unloads_.empty(); });
    }
  }
}

void ModelPool::unload_wanted(const Unloading& next, Lock& lock) {
  Entry& entry = *next.entry;
  try {
    if (entry.state == State::loaded && !drain(entry, Clock::now() + options_.patience, lock)) {
      throw ApiError(409, "MODEL_BUSY", fmt::format("model {} answers requests; try again when they have ended", entry.model.name));
    }
    if (entry.state == State::unloading) unload(entry, "request", lock);
    respond_success(next.exchange);
  } catch (const PoolStopped&) {
    next.exchange->respond(stopping_error().response(Dialect::llama));
  } catch (const ApiError& error) {
    next.exchange->respond(error.response(Dialect::llama));
  }
}

void ModelPool::stop() {
  Lock lock(mutex_);
  stops_ = true;
  changed_.notify_all();
  for (const Unloading& one : std::exchange(unloads_, {})) one.exchange->respond(stopping_error().response(Dialect::llama));
  for (const auto& entry : entries_) answer(*entry, stopping_error(), lock);
}

void ModelPool::load_wanted(Entry& entry, Lock& lock) {
  std::optional<ApiError> error;
  try {
    make_room(entry, lock);
    const Clock::time_point begin = Clock::now();
    std::shared_ptr<Service> service = load_service(entry, lock);
    const EngineInfo& info = service->engine->info();
    entry.cache_bytes = static_cast<uint64_t>(info.kv_bytes);
    entry.failure.clear();
    entry.used = Clock::now();
    log_("info", "model_loaded",
         {{"model", entry.model.name},
          {"device", info.device},
          {"context", info.context},
          {"seconds", std::chrono::duration<double>(Clock::now() - begin).count()}});
    entry.worker.ready(service);
    entry.state = State::loaded;
    answer(entry, std::nullopt, lock);
    return;
  } catch (const PoolStopped&) {
    error = stopping_error();
  } catch (const ApiError& refused) {
    error = refused;
  } catch (const std::exception& thrown) {
    error = loading_error(entry.model.name, thrown);
  }
  entry.state = State::unloaded;
  entry.failure = error->what();
  log_("error", "model_failed", {{"model", entry.model.name}, {"message", error->what()}});
  answer(entry, error, lock);
}

// Called with the lock, which it gives up while it loads. Where a device has no memory, that of another model may do.
std::shared_ptr<Service> ModelPool::load_service(Entry& entry, Lock& lock) {
  for (;;) {
    lock.unlock();
    try {
      std::shared_ptr<Service> service = entry.model.load([&](const LoadingState& state) {
        if (stops_) throw PoolStopped();
        entry.worker.loading(state);
      });
      service->engine->start();
      lock.lock();
      return service;
    } catch (const Error& error) {
      lock.lock();
      Entry* const other = error.code() == ErrorCode::out_of_memory ? oldest() : nullptr;
      if (other == nullptr || !drain(*other, Clock::now() + options_.patience, lock)) throw;
      unload(*other, "memory", lock);
    } catch (...) {
      lock.lock();
      throw;
    }
  }
}

bool ModelPool::has_room(const Entry& entry) const {
  int64_t loaded = 0;
  uint64_t bytes = entry.model.bytes + entry.cache_bytes;
  for (const auto& other : entries_) {
    if (other->state != State::loaded) continue;
    ++loaded;
    bytes += other->model.bytes + other->cache_bytes;
  }
  if (loaded == 0) return true;
  return (options_.max_loaded == 0 || loaded < options_.max_loaded) && (options_.memory_bytes == 0 || bytes <= options_.memory_bytes);
}

ModelPool::Entry* ModelPool::oldest() const {
  Entry* found = nullptr;
  for (const auto& entry : entries_) {
    if (entry->state != State::loaded) continue;
    const auto rank = [](const Entry& one) { return std::pair(one.is_busy(), one.used); };
    if (found == nullptr || rank(*entry) < rank(*found)) found = entry.get();
  }
  return found;
}

void ModelPool::make_room(const Entry& entry, Lock& lock) {
  const Clock::time_point end = Clock::now() + options_.patience;
  while (!has_room(entry)) {
    Entry* const other = oldest();
    WICK_ASSERT(other != nullptr);
    if (!drain(*other, end, lock)) {
      throw ApiError(503, "INSUFFICIENT_MEMORY",
                     fmt::format("there is no room for model {} while {} answers requests; try again later, or raise max_loaded or memory "
                                 "of the server's --models file ({} MiB are allowed)",
                                 entry.model.name, other->model.name,
                                 options_.memory_bytes == 0 ? "all" : fmt::format("{}", mebibytes(options_.memory_bytes))))
          .retry_after(std::chrono::seconds(5));
    }
    unload(*other, "room", lock);
  }
}

bool ModelPool::drain(Entry& entry, Clock::time_point end, Lock& lock) {
  entry.state = State::unloading;
  while (entry.is_busy() && !stops_ && Clock::now() < end) changed_.wait_for(lock, kPoll);
  if (!stops_ && !entry.is_busy()) return true;
  entry.state = State::loaded;
  answer(entry, std::nullopt, lock);
  if (stops_) throw PoolStopped();
  return false;
}

void ModelPool::unload(Entry& entry, std::string_view reason, Lock& lock) {
  entry.state = State::unloading;
  std::shared_ptr<Service> service = entry.worker.take_service();
  lock.unlock();
  service->engine->stop();
  service.reset();
  release_unused_memory();
  log_("info", "model_unloaded", {{"model", entry.model.name}, {"reason", reason}});
  lock.lock();
  // What came meanwhile loads it again.
  entry.state = entry.waiting.empty() ? State::unloaded : State::loading;
  if (!entry.waiting.empty()) wanted_.push_back(&entry);
}

void ModelPool::unload_idle(Lock& lock) {
  for (const auto& entry : entries_) {
    if (entry->state != State::loaded || entry->model.unload_after.count() == 0) continue;
    const Clock::time_point now = Clock::now();
    if (entry->is_busy()) {
      entry->used = now;
    } else if (now - entry->used >= entry->model.unload_after) {
      unload(*entry, "idle", lock);
    }
  }
}

// Gives what waits for a model to it, or an error. Called with the lock, which it gives up meanwhile.
void ModelPool::answer(Entry& entry, const std::optional<ApiError>& error, Lock& lock) {
  std::vector<Waiting> all = std::exchange(entry.waiting, {});
  const std::shared_ptr<Service> service = entry.worker.service_if_ready();
  lock.unlock();
  for (Waiting& one : all) {
    if (one.exchange->is_gone()) continue;
    HttpRequest none{.method = "POST", .path = "/models/load"};
    if (error) {
      entry.router.refuse(*error, one.request ? *one.request : none, one.exchange);
    } else if (one.request) {
      entry.router.forward(*one.request, one.exchange);
    } else {
      respond_success(one.exchange);
    }
  }
  lock.lock();
}

}  // namespace wick::server
