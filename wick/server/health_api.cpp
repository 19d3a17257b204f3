#include "wick/server/health_api.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/server/event_stream.h"
#include "wick/server/metrics_text.h"
#include "wick/server/metrics_writer.h"
#include "wick/server/model_entry.h"

namespace wick::server {
namespace {

void respond_json(const Exchange& exchange, int status, const Json& json) { exchange->respond(json_response(status, to_text(json))); }

void ready(const Worker& worker, const Exchange& exchange) {
  const Worker::Status status = worker.status();
  const bool is_ready = status == Worker::Status::ready || status == Worker::Status::busy;
  const char* state = status == Worker::Status::ready      ? "idle"
                      : status == Worker::Status::busy     ? "busy"
                      : status == Worker::Status::starting ? "loading"
                                                           : "unavailable";
  Json json = {{"ready", is_ready},
               {"state", state},
               {"model_loaded", worker.service_if_ready() != nullptr},
               {"progress_url", "/v1/loading/progress"}};
  HttpResponse response = json_response(is_ready ? 200 : 503, to_text(json));
  if (!is_ready) response.headers.add("Retry-After", "1");
  exchange->respond(std::move(response));
}

// What requests may call a model: the model itself and its adapters.
std::vector<std::string> model_names(const Service& service) {
  std::vector<std::string> names = {service.model_id};
  for (LoadedAdapter& adapter : service.engine->adapters()) names.push_back(std::move(adapter.name));
  return names;
}

Json model_json(const Service& service, const std::string& id) {
  const EngineInfo& info = service.engine->info();
  Json json = model_entry(id, service.created);
  json["max_model_len"] = info.context;
  json["meta"] = {{"vocab_type", nullptr}, {"n_vocab", info.vocab_size},  {"n_ctx_train", info.model_context},
                  {"n_embd", info.width},  {"n_params", info.parameters}, {"size", info.file_bytes}};
  return json;
}

void models(const Worker& worker, const Exchange& exchange) {
  Json list = Json::array();
  if (const auto service = worker.service_if_ready()) {
    for (const std::string& id : model_names(*service)) list.push_back(model_json(*service, id));
  }
  respond_json(exchange, 200, list_page(std::move(list)));
}

void model(const Worker& worker, const HttpRequest& request, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const std::string id(request.parameter("id"));
  const std::vector<std::string> names = model_names(*service);
  if (std::find(names.begin(), names.end(), id) == names.end()) {
    throw ApiError(404, "model_not_found", fmt::format("no model {}; this worker serves {}", id, service->model_id));
  }
  respond_json(exchange, 200, model_json(*service, id));
}

}  // namespace

void add_health_routes(Router& router, Worker& worker) {
  const auto health = [&worker](HttpRequest&, const Exchange& exchange) {
    const bool failed = worker.status() == Worker::Status::failed;
    respond_json(exchange, failed ? 500 : 200, {{"status", failed ? "failed" : "healthy"}});
  };
  for (const char* path : {"/health", "/v1/health", "/healthz", "/livez"}) {
    router.add("GET", path, Dialect::fleet, health, Route::Who::anyone);
  }
  for (const char* path : {"/v1/ready", "/ready", "/readyz"}) {
    router.add(
        "GET", path, Dialect::fleet, [&worker](HttpRequest&, const Exchange& exchange) { ready(worker, exchange); }, Route::Who::anyone);
  }
  router.add("GET", "/v1/loading/progress", Dialect::fleet, [&worker](HttpRequest&, const Exchange& exchange) {
    begin_events(*exchange);
    worker.follow_progress(exchange);
  });
  router.add("GET", "/info", Dialect::fleet,
             [&worker](HttpRequest&, const Exchange& exchange) { respond_json(exchange, 200, worker.info()); });
  router.add("GET", "/metrics", Dialect::fleet, [&worker](HttpRequest&, const Exchange& exchange) {
    exchange->respond({.status = 200, .headers = {{"Content-Type", kMetricsType}}, .body = metrics_text(worker)});
  });
  for (const std::string prefix : {"/v1", "/openai/v1", ""}) {
    router.add("GET", prefix + "/models", Dialect::openai, [&worker](HttpRequest&, const Exchange& exchange) { models(worker, exchange); });
    router.add("GET", prefix + "/models/{id…}", Dialect::openai,
               [&worker](HttpRequest& request, const Exchange& exchange) { model(worker, request, exchange); });
  }
}

}  // namespace wick::server
