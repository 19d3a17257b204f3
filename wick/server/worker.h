// A Worker is what the endpoints share: the model once it is loaded, how far loading is, and whether the process is about to end.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "wick/engine/engine.h"
#include "wick/engine/repetition.h"
#include "wick/server/http_exchange.h"
#include "wick/server/json.h"
#include "wick/server/loading_state.h"
#include "wick/text/chat/call_form.h"
#include "wick/text/chat/chat_template.h"
#include "wick/text/grammar/token_constraint.h"

namespace wick::server {

// Defaults for requests.
struct RequestDefaults {
  GenerationParams params = {};            // sampling, stops and ignore_eos of it
  std::optional<int64_t> max_tokens = {};  // -1: as many as the context holds; none: each API's own
  std::vector<std::string> dry_breakers = default_dry_breakers();
};

// A loaded model, ready for requests.
struct Service {
  std::shared_ptr<LanguageModel> draft = {};  // proposes tokens to the engine; may be none
  std::unique_ptr<Engine> engine = {};
  std::unique_ptr<ConstraintCompiler> constraints = {};  // for the engine's tokenizer
  std::string model_id = {};                             // what requests call the model
  std::string path = {};
  int64_t created = 0;  // Unix time
  std::optional<ChatTemplate> chat_template = {};
  std::string chat_template_error = {};                                       // what to say where there is none
  std::shared_ptr<const CallSyntax> call_syntax = find_call_syntax("plain");  // how the model writes calls of tools
  RequestDefaults defaults = {};
};

struct WorkerOptions {
  std::string id = "worker";
  std::string model_ref;       // how the fleet names the model
  std::string device;          // "cpu:0"
  std::string implementation;  // "wick-worker-cpu"
  std::string version;
  int port = 0;
  std::string metrics_prefix = "wick:";
  std::string slot_folder = {};                          // where /slots saves to and restores from; empty: it does not
  std::function<void(std::function<void()>)> post = {};  // runs a function on a server thread
  std::function<Json()> device_metrics = {};             // {"utilization": 0 to 1, "memory_used": bytes …}; what the driver tells, or empty
};

// Any number of threads may use it.
class Worker {
 public:
  enum class Status { starting, ready, busy, stopping, failed };

  explicit Worker(WorkerOptions options) : options_(std::move(options)) {}

  [[nodiscard]] const WorkerOptions& options() const noexcept { return options_; }

  // Before the first request.
  void set_port(int port) { options_.port = port; }

  // --- What the loader tells ---
  void loading(const LoadingState& state);
  void ready(std::shared_ptr<Service> service);
  // Takes the model back; the worker is as before its loading.
  [[nodiscard]] std::shared_ptr<Service> take_service();
  void failed(const std::string& message);
  void stopping();

  [[nodiscard]] Status status() const;
  // The loaded model. Errors: ApiError with status 503 while it loads, or if that failed.
  [[nodiscard]] std::shared_ptr<Service> service() const;
  [[nodiscard]] std::shared_ptr<Service> service_if_ready() const;
  // {"stage": "loading", "bytes": …} or {"stage": "ready"} or {"stage": "failed", …}.
  [[nodiscard]] Json progress() const;
  // Writes each change of progress() to a stream that has begun, and ends it with the last one.
  void follow_progress(const std::shared_ptr<HttpExchange>& exchange);
  // The worker's record for the fleet and /info.
  [[nodiscard]] Json info() const;
  void post(std::function<void()> work) const { options_.post(std::move(work)); }
  // Unix time, in seconds.
  [[nodiscard]] static int64_t unix_time();

 private:
  void tell_followers();

  WorkerOptions options_;
  mutable std::mutex mutex_;
  std::shared_ptr<Service> service_;
  LoadingState loading_;
  std::string failure_;
  bool stopping_ = false;
  std::chrono::steady_clock::time_point told_ = {};
  std::vector<std::shared_ptr<HttpExchange>> followers_;
};

[[nodiscard]] std::string_view to_string(Worker::Status status) noexcept;

}  // namespace wick::server
