#include "wick/server/serve.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/server/chat_page.h"
#include "wick/server/fleet_api.h"
#include "wick/server/health_api.h"
#include "wick/server/heartbeat.h"
#include "wick/server/jobs.h"
#include "wick/server/long_requests.h"
#include "wick/server/pool_api.h"
#include "wick/server/request_log.h"
#include "wick/server/router.h"
#include "wick/server/setting_flags.h"

namespace wick::server {
namespace {

HeartbeatOptions heartbeat_options(const ServeOptions& options) {
  HeartbeatOptions result;
  if (!options.queen_url.empty()) result.targets.push_back(parse_http_url("--queen-url", options.queen_url));
  if (!options.hive_url.empty()) result.targets.push_back(parse_http_url("--hive-url", options.hive_url));
  if (!options.callback_url.empty()) result.ready_callback = parse_http_url("--callback-url", options.callback_url);
  return result;
}

// Thrown out of a load that nobody waits for any more.
struct LoadingStopped {};

// A load that does not end within this time after a signal is left behind.
constexpr std::chrono::seconds kLoadingEnd{1};

// Everything of one served worker, from listening to the end.
class Server {
 public:
  Server(const ServeOptions& options, const std::function<void(const std::string&)>& log)
      : options_(options),
        log_(options.log_format == LogFormat::json, log),
        access_(options.access),
        router_(access_, BrowserAccess(browser_options(options))),
        heartbeats_(heartbeat_options(options)) {
    if (!options.batches) return;
    batches_ = options.batches({.router = router_,
                                .at_once = [this] { return requests_at_once(); },
                                .log = [this](std::string_view level, const Json& details) { log_.event(level, "batch", details); }});
  }

  int run(const std::function<std::shared_ptr<Service>(const Progress&)>& load) {
    worker_.emplace(worker_options());
    add_routes(router_, *worker_);
    if (options_.has_page) add_chat_page(router_);
    return listen([&](Heartbeat& heartbeat) { run_loader(load, heartbeat); });
  }

  int run(PoolOptions models) {
    worker_.emplace(worker_options());
    pool_.emplace(
        std::move(models), worker_options(), access_, [this](Router& router, Worker& worker) { add_routes(router, worker); },
        [this](std::string_view level, std::string_view event, const Json& details) { log_.event(level, event, details); });
    if (options_.has_page) add_chat_page(router_);
    add_pool_routes(router_, *pool_, *worker_);
    add_job_routes(router_, jobs_);
    pool_->add_model_routes(router_);
    return listen([this](Heartbeat&) {
      log_.event("info", "ready", Json::object());
      pool_->run();
    });
  }

 private:
  // Serves until a signal comes; `load` runs on a thread of its own.
  int listen(const std::function<void(Heartbeat&)>& load) {
    long_requests_.emplace([this](HttpRequest request, const Exchange& exchange) { router_.handle(std::move(request), exchange); });
    http_.emplace(
        options_.http, [this](HttpRequest request, Exchange exchange) { handle(std::move(request), std::move(exchange)); },
        [this](int status, const std::string& message, const HttpRequest& request) { return refuse(status, message, request); },
        [this](HttpRequest& request) { return admit(request); });
    worker_->set_port(http_->port());
    http_->on_signal([this] { stop(); }, [this] { abort(); });
    log_.event("info", "listening", {{"address", http_->address()}, {"worker_id", options_.worker_id}});
    Heartbeat heartbeat(
        heartbeats_, [this] { return worker_->info(); },
        [this](const std::string& line) { log_.event("warning", "fleet", {{"message", line}}); });
    std::promise<void> loaded;
    std::thread loader([&] {
      load(heartbeat);
      loaded.set_value();
    });
    if (batches_ != nullptr) batches_->start();
    wait_for_stop();
    // It goes on when the next process starts: nobody waits for it now.
    if (batches_ != nullptr) batches_->stop();
    worker_->stopping();
    if (pool_) pool_->stop();
    heartbeat.beat();
    const int drained = drain();
    const bool has_loaded = loaded.get_future().wait_for(kLoadingEnd) == std::future_status::ready;
    if (has_loaded) loader.join();
    http_.reset();
    heartbeat.finish("stopped");
    const int code = std::max(drained, failure_.load());
    log_.event("info", "stopped", {{"exit_code", code}});
    if (!has_loaded) std::_Exit(code);
    return code;
  }

  WorkerOptions worker_options() {
    return {.id = options_.worker_id,
            .model_ref = options_.model_ref,
            .device = options_.device,
            .implementation = options_.implementation,
            .version = options_.version,
            .port = 0,
            .metrics_prefix = options_.metrics_prefix,
            .slot_folder = options_.slot_folder,
            .post =
                [this](std::function<void()> work) {
                  if (http_) http_->post(std::move(work));
                },
            .device_metrics = options_.device_metrics};
  }

  [[nodiscard]] int64_t requests_at_once() const {
    constexpr int64_t kUnknown = 8;
    const std::shared_ptr<Service> service = worker_->service_if_ready();
    return service == nullptr ? kUnknown : service->engine->info().sequences;
  }

  void add_routes(Router& router, Worker& worker) {
    add_health_routes(router, worker);
    for (const Dialect* dialect : Dialect::all()) dialect->add_routes(router, {.worker = worker, .jobs = jobs_});
  }

  void handle(HttpRequest request, Exchange exchange) {
    Exchange watched = options_.is_quiet ? std::move(exchange) : log_.watch(request, std::move(exchange));
    if (request.body.size() > kLongBody) {
      long_requests_->add(std::move(request), std::move(watched));
    } else {
      router_.handle(std::move(request), watched);
    }
  }

  std::optional<HttpResponse> admit(HttpRequest& request) {
    std::optional<HttpResponse> response = router_.admit(request);
    if (response && !options_.is_quiet) log_.answered(request, response->status);
    return response;
  }

  // What could not be read as a request, or not be handled.
  HttpResponse refuse(int status, const std::string& message, HttpRequest request) {
    HttpResponse response = router_.refusal(error_of_refusal(status, message), request);
    if (!options_.is_quiet) log_.answered(request, status, message);
    return response;
  }

  void run_loader(const std::function<std::shared_ptr<Service>(const Progress&)>& load, Heartbeat& heartbeat) {
    try {
      std::shared_ptr<Service> service = load([this](const LoadingState& state) {
        if (stop_.test()) throw LoadingStopped();
        worker_->loading(state);
      });
      if (stop_.test()) return;
      service->engine->start();
      const EngineInfo info = service->engine->info();
      Json fields = {{"model", service->model_id}, {"device", info.device}, {"context", info.context}, {"sequences", info.sequences}};
      const SamplingParams& sampling = service->defaults.params.sampling;
      // As short as f32 allows: 0.6.
      const auto decimal = [](float value) { return std::stod(fmt::format("{}", value)); };
      fields["temperature"] = decimal(sampling.temperature);
      fields["top_k"] = sampling.top_k;
      fields["top_p"] = decimal(sampling.top_p);
      // Who waits for the line in the log may ask at once.
      worker_->ready(std::move(service));
      log_.event("info", "ready", fields);
    } catch (const LoadingStopped&) {
      return;
    } catch (const Error& error) {
      failure_ = exit_code_of(error);
      const std::string message =
          message_of(error, [](Setting setting, const std::string& value) { return with_value(flag_of(setting), value); });
      log_.event("error", "loading_failed", {{"message", message}});
      worker_->failed(message);
      stop();
    } catch (const std::exception& error) {
      failure_ = 1;
      log_.event("error", "loading_failed", {{"message", error.what()}});
      worker_->failed(error.what());
      stop();
    }
    heartbeat.beat();
  }

  static int exit_code_of(const Error& error) {
    return error.code() == ErrorCode::io || error.code() == ErrorCode::device_lost || error.code() == ErrorCode::out_of_memory ? 1 : 2;
  }

  void stop() {
    stop_.test_and_set();
    stop_.notify_all();
  }
  // The second signal: nobody is waited for.
  void abort() {
    log_.event("warning", "aborted", Json::object());
    std::_Exit(130);
  }
  void wait_for_stop() { stop_.wait(false); }

  int drain() {
    log_.event("info", "draining", {{"requests", http_->active_requests()}, {"seconds", options_.drain.count()}});
    http_->drain();
    std::vector<std::shared_ptr<Service>> services = {worker_->service_if_ready()};
    if (pool_) {
      for (const ModelPool::Row& row : pool_->rows()) services.push_back(row.service);
    }
    std::erase(services, nullptr);
    const auto end = std::chrono::steady_clock::now() + options_.drain;
    bool all_ended = true;
    for (const std::shared_ptr<Service>& service : services) {
      const auto left = std::max(end - std::chrono::steady_clock::now(), std::chrono::steady_clock::duration(0));
      all_ended = service->engine->drain(left) && all_ended;
    }
    // What the engine has ended is still to be written.
    const bool all_sent = http_->wait_drained(std::chrono::seconds(2));
    for (const std::shared_ptr<Service>& service : services) service->engine->stop();
    long_requests_->stop();
    return all_ended && all_sent ? 0 : 1;
  }

  const ServeOptions& options_;
  RequestLog log_;
  Access access_;
  Router router_;
  HeartbeatOptions heartbeats_;
  Jobs jobs_;
  std::optional<Worker> worker_;
  std::optional<ModelPool> pool_;
  std::optional<LongRequests> long_requests_;
  std::optional<HttpServer> http_;
  std::unique_ptr<ServerPart> batches_;
  std::atomic_flag stop_;
  std::atomic<int> failure_{0};
};

}  // namespace

void check_exposure(const ServeOptions& options) {
  if (options.insecure || !options.access.keys.empty() || !options.http.unix_socket.empty() || is_loopback(options.http.host)) return;
  fail(
      ErrorCode::invalid_argument,
      "--host {}: others on the network could use this server; give --api-key, --api-key-file or WICK_API_KEY, or --insecure to allow that",
      options.http.host);
}

BrowserAccessOptions browser_options(const ServeOptions& options) {
  return {.origins = options.origins,
          .hosts = options.hosts,
          .is_open = options.access.keys.empty(),
          .is_local = !options.http.unix_socket.empty() || is_loopback(options.http.host)};
}

ApiError error_of_refusal(int status, const std::string& message) {
  const char* const code = status == 408 ? "TIMEOUT" : status == 500 ? "INFERENCE_FAILED" : "INVALID_REQUEST";
  ApiError error(status, code, message);
  if (status == 408) error.retry_after(std::chrono::seconds(1));
  return error;
}

int serve(const ServeOptions& options, const std::function<std::shared_ptr<Service>(const Progress&)>& load,
          const std::function<void(const std::string&)>& log) {
  check_exposure(options);
  return Server(options, log).run(load);
}

int serve(const ServeOptions& options, PoolOptions models, const std::function<void(const std::string&)>& log) {
  check_exposure(options);
  return Server(options, log).run(std::move(models));
}

}  // namespace wick::server
