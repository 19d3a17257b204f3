#include "wick/server/pool_api.h"

#include <map>
#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/server/event_stream.h"
#include "wick/server/metrics_text.h"
#include "wick/server/metrics_writer.h"
#include "wick/server/model_entry.h"

namespace wick::server {
namespace {

using Row = ModelPool::Row;

void respond_json(const Exchange& exchange, const Json& json) { exchange->respond(json_response(200, to_text(json))); }

// As llama-server's router tells it.
Json status_json(const Row& row) {
  Json json = {{"value", to_string(row.state)}};
  if (!row.failure.empty()) json.update({{"failed", true}, {"message", row.failure}});
  return json;
}

Json model_json(const Row& row, const std::string& id) {
  Json json = model_entry(id, row.service == nullptr ? Worker::unix_time() : row.service->created);
  json["status"] = status_json(row);
  json["kind"] = row.model.only_embeds ? "embedding" : "text";
  json["aliases"] = row.model.aliases;
  json["size"] = row.model.bytes;
  if (id != row.model.name) json["parent"] = row.model.name;
  if (row.service != nullptr) json["max_model_len"] = row.service->engine->info().context;
  return json;
}

Json models_json(const ModelPool& pool) {
  Json list = Json::array();
  for (const Row& row : pool.rows()) {
    list.push_back(model_json(row, row.model.name));
    for (const std::string& adapter : row.model.adapters) list.push_back(model_json(row, adapter));
  }
  return list;
}

Json find_model(const ModelPool& pool, std::string_view id) {
  for (Json& model : models_json(pool)) {
    if (model["id"] == id) return std::move(model);
  }
  throw ApiError(404, "model_not_found", fmt::format("no model {}; GET /v1/models lists those of this server", id));
}

// Ollama's lists: of all models, or of those in memory.
Json ollama_models(const ModelPool& pool, bool loaded) {
  Json list = Json::array();
  for (const Row& row : pool.rows()) {
    if (loaded && row.service == nullptr) continue;
    Json json = {{"name", row.model.name},
                 {"model", row.model.name},
                 {"size", row.model.bytes},
                 {"digest", ""},
                 {"details", {{"format", "gguf"}, {"family", row.service == nullptr ? "" : row.service->engine->info().architecture}}}};
    if (row.service != nullptr) json["context_length"] = row.service->engine->info().context;
    list.push_back(std::move(json));
  }
  return {{"models", std::move(list)}};
}

// Whether a model answers requests, and how many are in memory.
struct PoolUsage {
  bool is_busy = false;
  int64_t loaded = 0;
};

PoolUsage pool_usage(const ModelPool& pool) {
  PoolUsage usage;
  for (const Row& row : pool.rows()) {
    if (row.service == nullptr) continue;
    ++usage.loaded;
    const EngineMetrics metrics = row.service->engine->metrics();
    usage.is_busy = usage.is_busy || metrics.running + metrics.waiting > 0;
  }
  return usage;
}

Json info_json(const ModelPool& pool, const Worker& worker) {
  const WorkerOptions& options = worker.options();
  Json models = Json::array();
  for (const Row& row : pool.rows()) models.push_back({{"name", row.model.name}, {"state", to_string(row.state)}});
  return {{"id", options.id},
          {"device", options.device},
          {"port", options.port},
          {"status", pool_usage(pool).is_busy ? "busy" : "ready"},
          {"implementation", options.implementation},
          {"version", options.version},
          {"models", std::move(models)}};
}

// The metrics of all models that are loaded; a family stands once, with the samples of each model.
std::string pool_metrics(const ModelPool& pool) {
  std::vector<std::string> order;
  std::map<std::string, std::string> heads;
  std::map<std::string, std::string> samples;
  for (const Row& row : pool.rows()) {
    const std::string text = metrics_text(row.worker);
    std::string family;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin) + 1;
      const std::string line = text.substr(begin, end - begin);
      begin = end;
      constexpr std::string_view kHelp = "# HELP ";
      if (line.starts_with(kHelp)) family = line.substr(kHelp.size(), line.find(' ', kHelp.size()) - kHelp.size());
      if (!samples.contains(family)) {
        order.push_back(family);
        samples[family] = "";
      }
      std::string& head = heads[family];
      if (!line.starts_with('#')) {
        samples[family] += line;
      } else if (head.find(line) == std::string::npos) {
        head += line;
      }
    }
  }
  std::string all;
  for (const std::string& family : order) all += heads[family] + samples[family];
  return all;
}

std::string named_model(const HttpRequest& request) {
  const Json& body = request.json();
  if (!body.is_object() || !body.contains("model") || !body["model"].is_string()) {
    throw ApiError({{.field = "model", .constraint = "is required: the name of a model of GET /v1/models", .value = ""}});
  }
  return body["model"].get<std::string>();
}

void add_probes(Router& router, ModelPool& pool, const Worker& worker) {
  for (const char* path : {"/health", "/v1/health", "/healthz", "/livez"}) {
    router.add(
        "GET", path, Dialect::fleet, [](HttpRequest&, const Exchange& exchange) { respond_json(exchange, {{"status", "healthy"}}); },
        Route::Who::anyone);
  }
  for (const char* path : {"/v1/ready", "/ready", "/readyz"}) {
    router.add(
        "GET", path, Dialect::fleet,
        [&pool](HttpRequest&, const Exchange& exchange) {
          const PoolUsage usage = pool_usage(pool);
          respond_json(exchange, {{"ready", true},
                                  {"state", usage.is_busy ? "busy" : "idle"},
                                  {"model_loaded", usage.loaded > 0},
                                  {"progress_url", "/v1/loading/progress"}});
        },
        Route::Who::anyone);
  }
  router.add("GET", "/v1/loading/progress", Dialect::fleet, [&pool](HttpRequest& request, const Exchange& exchange) {
    Worker& own = pool.worker(request.query_value("model").value_or(""));
    begin_events(*exchange);
    own.follow_progress(exchange);
  });
  router.add("GET", "/info", Dialect::fleet,
             [&](HttpRequest&, const Exchange& exchange) { respond_json(exchange, info_json(pool, worker)); });
  router.add("GET", "/metrics", Dialect::fleet, [&pool](HttpRequest&, const Exchange& exchange) {
    exchange->respond({.status = 200, .headers = {{"Content-Type", kMetricsType}}, .body = pool_metrics(pool)});
  });
}

}  // namespace

void add_pool_routes(Router& router, ModelPool& pool, const Worker& worker) {
  add_probes(router, pool, worker);
  router.add("POST", "/models/load", Dialect::llama,
             [&pool](HttpRequest& request, const Exchange& exchange) { pool.load(named_model(request), exchange); });
  router.add("POST", "/models/unload", Dialect::llama,
             [&pool](HttpRequest& request, const Exchange& exchange) { pool.unload(named_model(request), exchange); });
  for (const std::string prefix : {"/v1", "/openai/v1", ""}) {
    router.add("GET", prefix + "/models", Dialect::openai,
               [&pool](HttpRequest&, const Exchange& exchange) { respond_json(exchange, list_page(models_json(pool))); });
    router.add("GET", prefix + "/models/{id…}", Dialect::openai, [&pool](HttpRequest& request, const Exchange& exchange) {
      respond_json(exchange, find_model(pool, request.parameter("id")));
    });
  }
  router.add("GET", "/api/tags", Dialect::ollama,
             [&pool](HttpRequest&, const Exchange& exchange) { respond_json(exchange, ollama_models(pool, false)); });
  router.add("GET", "/api/ps", Dialect::ollama,
             [&pool](HttpRequest&, const Exchange& exchange) { respond_json(exchange, ollama_models(pool, true)); });
  router.add("GET", "/api/version", Dialect::ollama,
             [&worker](HttpRequest&, const Exchange& exchange) { respond_json(exchange, {{"version", worker.options().version}}); });
}

}  // namespace wick::server
