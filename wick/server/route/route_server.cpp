#include "wick/server/route/route_server.h"

#include <atomic>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "wick/base/fail.h"
#include "wick/server/chat_page.h"
#include "wick/server/forwarding_exchange.h"
#include "wick/server/jobs.h"
#include "wick/server/long_requests.h"
#include "wick/server/metrics_writer.h"
#include "wick/server/request_log.h"
#include "wick/server/route/replica_poller.h"
#include "wick/server/route/replica_set.h"
#include "wick/server/route/route_metrics.h"
#include "wick/server/route/routed_request.h"
#include "wick/server/route/upstream_client.h"
#include "wick/server/router.h"

namespace wick::server {
namespace {

// Files and batches belong together: one replica has all of them.
constexpr const char* kBatchHome = "/v1/batches";

constexpr const char* kMethods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};

void respond(const Exchange& exchange, int status, const Json& json) { exchange->respond(json_response(status, to_text(json))); }

// Counts a request until its exchange has ended.
class CountedExchange final : public ForwardingExchange {
 public:
  CountedExchange(std::atomic<int64_t>& count, Exchange inner) : ForwardingExchange(std::move(inner)), count_(count) { ++count_; }
  ~CountedExchange() override { --count_; }

 private:
  std::atomic<int64_t>& count_;
};

class RouteServer {
 public:
  RouteServer(const RouteOptions& options, const std::function<void(const std::string&)>& log)
      : options_(options),
        log_(options.serve.log_format == LogFormat::json, log),
        access_(options.serve.access),
        router_(access_, BrowserAccess(browser_options(options.serve))),
        routed_{.key = {.key = options.replica_key, .hides_client_key = access_.needs_key()}, .retries = options.retries},
        replicas_(options.balance_bound, options.serve.version, [this](auto level, const Json& details) { tell(level, details); }),
        client_(options.serve.http.threads, has_tls() || !options.authorities.empty() ? make_tls_client(options.authorities) : nullptr),
        poller_({.fixed = options.replicas,
                 .file = options.replica_file,
                 .application = options.application,
                 .key = routed_.key,
                 .interval = options.poll},
                replicas_, client_, [this](auto level, const Json& details) { tell(level, details); }),
        long_requests_([this](HttpRequest request, const Exchange& exchange) { router_.handle(std::move(request), exchange); }) {
    replicas_.on_failure([this](const std::string& name) { poller_.hurry(name); });
    add_own_routes();
    add_routed();
  }

  int run() {
    http_.emplace(
        options_.serve.http, [this](HttpRequest request, Exchange exchange) { handle(std::move(request), std::move(exchange)); },
        [this](int status, const std::string& message, const HttpRequest& request) { return refuse(status, message, request); },
        [this](HttpRequest& request) { return admit(request); });
    http_->on_signal([this] { stop(); }, [this] { abort(); });
    log_.event("info", "listening", {{"address", http_->address()}, {"replicas", replicas_.rows().size()}});
    poller_.start();
    stop_.wait(false);
    log_.event("info", "draining", {{"requests", http_->active_requests()}, {"seconds", options_.serve.drain.count()}});
    const int code = http_->wait_drained(options_.serve.drain) ? 0 : 1;
    poller_.stop();
    long_requests_.stop();
    client_.stop();
    http_.reset();
    log_.event("info", "stopped", {{"exit_code", code}});
    return code;
  }

 private:
  void tell(std::string_view level, const Json& details) { log_.event(level, "replica", details); }

  void add_own_routes() {
    for (const char* path : {"/health", "/v1/health", "/healthz", "/livez"}) {
      router_.add(
          "GET", path, Dialect::fleet, [](HttpRequest&, const Exchange& exchange) { respond(exchange, 200, {{"status", "healthy"}}); },
          Route::Who::anyone);
    }
    for (const char* path : {"/v1/ready", "/ready", "/readyz"}) {
      router_.add("GET", path, Dialect::fleet, [this](HttpRequest&, const Exchange& exchange) { ready(exchange); }, Route::Who::anyone);
    }
    router_.add("GET", "/info", Dialect::fleet, [this](HttpRequest&, const Exchange& exchange) { info(exchange); });
    router_.add("GET", "/metrics", Dialect::fleet, [this](HttpRequest&, const Exchange& exchange) {
      const RouteTotals totals{.requests_in_flight = in_flight_, .requests_refused = refused_};
      exchange->respond({.status = 200,
                         .headers = {{"Content-Type", kMetricsType}},
                         .body = route_metrics(options_.serve.metrics_prefix, replicas_.rows(), totals)});
    });
    for (const std::string prefix : {"/v1", "/openai/v1", ""}) {
      router_.add("GET", prefix + "/models", Dialect::openai,
                  [this](HttpRequest&, const Exchange& exchange) { respond(exchange, 200, list_page(replicas_.models())); });
      router_.add("GET", prefix + "/models/{id…}", Dialect::openai,
                  [this](HttpRequest& request, const Exchange& exchange) { model(request, exchange); });
    }
    if (options_.serve.has_page) add_chat_page(router_);
  }

  void add_routed() {
    const auto add = [this](const std::string& pattern, const Dialect& dialect,
                            const std::function<void(HttpRequest&, const Exchange&)>& send) {
      for (const char* method : kMethods) router_.add(method, pattern, dialect, send);
    };
    add("/v1/jobs/{path…}", Dialect::fleet,
        [this](HttpRequest& request, const Exchange& exchange) { pass_on(RoutedKind::look_up, {}, request, exchange); });
    for (const std::string prefix : {"/v1", "/openai/v1", ""}) {
      for (const char* path : {"/files", "/files/{path…}", "/batches", "/batches/{path…}"}) {
        add(prefix + path, Dialect::openai, [this](HttpRequest& request, const Exchange& exchange) {
          pass_on(RoutedKind::prompt, {.session = kBatchHome}, request, exchange);
        });
      }
    }
    const auto by_prompt = [this](HttpRequest& request, const Exchange& exchange) {
      pass_on(RoutedKind::prompt, route_key(request), request, exchange);
    };
    router_.add_routes_of(routes_of_workers(), by_prompt);
    for (const char* path : {"/models/load", "/models/unload"}) add(path, Dialect::llama, by_prompt);
    add("/{path…}", Dialect::openai, by_prompt);
  }

  // What a worker answers, by which a path's API is known. Its handlers are never called.
  [[nodiscard]] Router routes_of_workers() {
    Worker worker({});
    Jobs jobs;
    Router routes(access_, BrowserAccess({}));
    for (const Dialect* dialect : Dialect::all()) dialect->add_routes(routes, {.worker = worker, .jobs = jobs});
    return routes;
  }

  void pass_on(RoutedKind kind, RouteKey key, HttpRequest& request, const Exchange& exchange) {
    if (in_flight_ >= options_.requests) {
      ++refused_;
      throw ApiError(429, "QUEUE_FULL",
                     fmt::format("{} requests are in flight, which is the most that this router passes on", in_flight_.load()))
          .retry_after(std::chrono::seconds(1));
    }
    const auto counted = std::make_shared<CountedExchange>(in_flight_, exchange);
    std::make_shared<RoutedRequest>(replicas_, client_, routed_, kind, std::move(request), counted)->start(std::move(key));
  }

  void ready(const Exchange& exchange) const {
    int64_t count = 0;
    Json list = Json::array();
    for (const ReplicaRow& row : replicas_.rows()) {
      if (row.state == ReplicaState::ready) ++count;
      list.push_back({{"name", row.address.name}, {"state", to_string(row.state)}});
    }
    HttpResponse response =
        json_response(count > 0 ? 200 : 503,
                      to_text({{"ready", count > 0}, {"state", count > 0 ? "idle" : "unavailable"}, {"replicas", std::move(list)}}));
    if (count == 0) response.headers.add("Retry-After", "1");
    exchange->respond(std::move(response));
  }

  void info(const Exchange& exchange) const {
    Json list = Json::array();
    for (const ReplicaRow& row : replicas_.rows()) {
      Json one = {{"name", row.address.name}, {"state", to_string(row.state)}, {"requests_in_flight", row.in_flight}};
      if (!row.problem.empty()) one["problem"] = row.problem;
      if (!row.facts.version.empty()) one["version"] = row.facts.version;
      Json models = Json::array();
      for (const Json& entry : row.facts.models) models.push_back(entry["id"]);
      one["models"] = std::move(models);
      list.push_back(std::move(one));
    }
    Json answer = {{"implementation", options_.serve.implementation}, {"version", options_.serve.version}, {"replicas", std::move(list)}};
    if (const std::string problem = replicas_.list_problem(); !problem.empty()) answer["problem"] = problem;
    respond(exchange, 200, answer);
  }

  void model(const HttpRequest& request, const Exchange& exchange) const {
    const std::string_view id = request.parameter("id");
    for (const Json& entry : replicas_.models()) {
      if (entry["id"] == id) return respond(exchange, 200, entry);
    }
    throw ApiError(404, "model_not_found", fmt::format("no model {}; GET /v1/models lists those of the replicas", id));
  }

  void handle(HttpRequest request, Exchange exchange) {
    Exchange watched = options_.serve.is_quiet ? std::move(exchange) : log_.watch(request, std::move(exchange));
    if (request.body.size() > kLongBody) {
      long_requests_.add(std::move(request), std::move(watched));
    } else {
      router_.handle(std::move(request), watched);
    }
  }

  std::optional<HttpResponse> admit(HttpRequest& request) {
    std::optional<HttpResponse> response = router_.admit(request);
    if (response && !options_.serve.is_quiet) log_.answered(request, response->status);
    return response;
  }

  HttpResponse refuse(int status, const std::string& message, HttpRequest request) {
    HttpResponse response = router_.refusal(error_of_refusal(status, message), request);
    if (!options_.serve.is_quiet) log_.answered(request, status, message);
    return response;
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

  const RouteOptions& options_;
  RequestLog log_;
  Access access_;
  Router router_;
  RoutedOptions routed_;
  std::atomic<int64_t> in_flight_{0};
  std::atomic<uint64_t> refused_{0};
  ReplicaSet replicas_;
  UpstreamClient client_;
  ReplicaPoller poller_;
  LongRequests long_requests_;
  std::optional<HttpServer> http_;
  std::atomic_flag stop_;
};

}  // namespace

int route(const RouteOptions& options, const std::function<void(const std::string&)>& log) {
  check_exposure(options.serve);
  return RouteServer(options, log).run();
}

}  // namespace wick::server
