#include "wick/server/worker.h"

#include <utility>

#include "wick/server/api_error.h"
#include "wick/server/event_stream.h"

namespace wick::server {

std::string_view to_string(Worker::Status status) noexcept {
  switch (status) {
    case Worker::Status::starting: return "starting";
    case Worker::Status::ready: return "ready";
    case Worker::Status::busy: return "busy";
    case Worker::Status::stopping:
    case Worker::Status::failed: return "stopping";  // the fleet has no word of its own for a worker that will not come
  }
  return "";
}

int64_t Worker::unix_time() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void Worker::loading(const LoadingState& state) {
  {
    const std::scoped_lock lock(mutex_);
    loading_ = state;
    const auto now = std::chrono::steady_clock::now();
    if (now - told_ < std::chrono::milliseconds(100)) return;
    told_ = now;
  }
  tell_followers();
}

void Worker::ready(std::shared_ptr<Service> service) {
  {
    const std::scoped_lock lock(mutex_);
    service_ = std::move(service);
  }
  tell_followers();
}

std::shared_ptr<Service> Worker::take_service() {
  const std::scoped_lock lock(mutex_);
  loading_ = {};
  return std::exchange(service_, nullptr);
}

void Worker::failed(const std::string& message) {
  {
    const std::scoped_lock lock(mutex_);
    failure_ = message;
  }
  tell_followers();
}

void Worker::stopping() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    if (service_ == nullptr && failure_.empty()) failure_ = "the worker is stopping";
  }
  tell_followers();
}

Worker::Status Worker::status() const {
  std::shared_ptr<Service> service;
  {
    const std::scoped_lock lock(mutex_);
    if (stopping_) return Status::stopping;
    if (!failure_.empty()) return Status::failed;
    if (service_ == nullptr) return Status::starting;
    service = service_;
  }
  const EngineMetrics metrics = service->engine->metrics();
  return metrics.running + metrics.waiting > 0 ? Status::busy : Status::ready;
}

std::shared_ptr<Service> Worker::service_if_ready() const {
  const std::scoped_lock lock(mutex_);
  return service_;
}

std::shared_ptr<Service> Worker::service() const {
  const std::scoped_lock lock(mutex_);
  if (service_ != nullptr) return service_;
  if (!failure_.empty()) throw ApiError(503, "MODEL_LOADING_FAILED", "the model could not be loaded: " + failure_);
  throw ApiError(503, "MODEL_LOADING", "the model is loading; /v1/loading/progress tells how far it is")
      .retry_after(std::chrono::seconds(1));
}

Json Worker::progress() const {
  const std::scoped_lock lock(mutex_);
  if (!failure_.empty()) return {{"stage", "failed"}, {"message", failure_}};
  if (service_ != nullptr) return {{"stage", "ready"}};
  return {{"stage", "loading"},
          {"bytes", loading_.bytes},
          {"total_bytes", loading_.total_bytes},
          {"layers_loaded", loading_.layers},
          {"layers_total", loading_.total_layers}};
}

void Worker::follow_progress(const std::shared_ptr<HttpExchange>& exchange) {
  {
    const std::scoped_lock lock(mutex_);
    followers_.push_back(exchange);
  }
  tell_followers();
}

void Worker::tell_followers() {
  const Json now = progress();
  const bool is_last = now["stage"] != "loading";
  std::string text = json_event(now);
  if (is_last) text += event_text(now["stage"] == "ready" ? std::string("[DONE]") : "[ERROR] " + now["message"].get<std::string>());
  std::vector<std::shared_ptr<HttpExchange>> followers;
  {
    const std::scoped_lock lock(mutex_);
    followers = is_last ? std::exchange(followers_, {}) : followers_;
  }
  for (const std::shared_ptr<HttpExchange>& follower : followers) {
    follower->write(text);
    if (is_last) follower->end();
  }
  const std::scoped_lock lock(mutex_);
  std::erase_if(followers_, [](const std::shared_ptr<HttpExchange>& follower) { return follower->is_gone(); });
}

Json Worker::info() const {
  Json json = {{"id", options_.id},          {"model_id", options_.model_ref}, {"device", options_.device},
               {"port", options_.port},      {"status", to_string(status())},  {"implementation", options_.implementation},
               {"version", options_.version}};
  if (const std::shared_ptr<Service> service = service_if_ready()) {
    const EngineInfo& info = service->engine->info();
    json["device"] = info.device;  // what was opened where "auto" was asked for
    json["architecture"] = info.architecture;
    json["parameters"] = info.parameters;
    json["model_bytes"] = info.file_bytes;
    json["slots"] = info.sequences;
    json["context_length"] = info.context;
    json["vocab_size"] = info.vocab_size;
    json["kv_cache_bytes"] = info.kv_bytes;
  }
  return json;
}

}  // namespace wick::server
