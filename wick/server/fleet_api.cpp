#include "wick/server/fleet_api.h"

#include <chrono>
#include <utility>

#include "wick/base/fail.h"
#include "wick/server/adapter_fields.h"
#include "wick/server/event_stream.h"
#include "wick/server/generation_fields.h"
#include "wick/server/jobs.h"
#include "wick/server/narration.h"
#include "wick/server/prompt_length.h"

namespace wick::server {
namespace {

Json violations_json(const std::vector<Violation>& violations) {
  Json list = Json::array();
  for (const Violation& violation : violations) {
    list.push_back({{"field", violation.field},
                    {"constraint", violation.constraint},
                    {"message", fmt::format("{} {}", violation.field, violation.constraint)},
                    {"value", violation.value}});
  }
  return list;
}

Json fleet_error(const ApiError& error) {
  Json json;
  json["error"] = {{"code", error.code()}, {"message", error.what()}, {"retriable", error.can_retry()}};
  if (!error.violations().empty()) json["errors"] = violations_json(error.violations());
  return json;
}

std::string fleet_stream_end(const ApiError& error, const std::string& body) {
  return event_text(body) + event_text(fmt::format("[ERROR] {}", error.what()));
}

constexpr int64_t kInferTokens = 256;

Json optional_text(const std::optional<std::string>& text) { return text ? Json(*text) : Json(nullptr); }

double milliseconds(double seconds) { return seconds * 1000; }

// The events of a job: started, narration, token …, metrics, narration, end, [DONE]; or narration, error, [ERROR].
class JobWriter final : public AnswerWriter {
 public:
  JobWriter(std::shared_ptr<Job> job, std::string correlation_id) : job_(std::move(job)), correlation_id_(std::move(correlation_id)) {}

  void narrate(const Narration& narration) { job_->write(json_event(narration_json(narration, job_->id(), correlation_id_))); }

  void token(const Choice& choice, const TokenEvent& event) override {
    if (event.text.empty()) return;
    job_->write(json_event({{"type", "token"}, {"t", event.text}, {"i", index_++}}));
    (void)choice;
  }

  void finish(const Choice& choice, const FinishEvent& event) override {
    if (!event.text.empty()) job_->write(json_event({{"type", "token"}, {"t", event.text}, {"i", index_++}}));
    const Timings& timings = event.timings;
    const auto tokens = static_cast<double>(choice.tokens.size());
    job_->write(json_event({{"type", "metrics"},
                            {"tokens_per_sec", timings.decode > 0 ? (tokens - 1) / timings.decode : 0},
                            {"time_to_first_token_ms", milliseconds(timings.time_to_first_token)},
                            {"queued_ms", milliseconds(timings.queued)},
                            {"prompt_tokens", event.usage.prompt_tokens},
                            {"cached_tokens", event.usage.cached_tokens}}));
    narrate(narrate_end(event));
    job_->write(json_event({{"type", "end"},
                            {"tokens_out", event.usage.completion_tokens},
                            {"decode_time_ms", milliseconds(timings.decode)},
                            {"stop_reason", to_string(event.reason)},
                            {"stop_sequence_matched", optional_text(event.stop_sequence_matched)},
                            {"seed", event.seed}}));
    cancelled_ = event.reason == StopReason::cancelled;
  }

  void complete(const std::vector<Choice>&, const PromptEvent&) override {
    job_->write(event_text(cancelled_ ? "[CANCELLED]" : "[DONE]"));
    job_->end();
  }

  void fail(const ApiError& error) override {
    narrate(narrate_error(error));
    job_->write(json_event({{"type", "error"}, {"code", error.code()}, {"message", error.what()}, {"retriable", error.can_retry()}}));
    job_->write(event_text(std::string("[ERROR] ") + error.what()));
    job_->end();
  }

 private:
  std::shared_ptr<Job> job_;
  std::string correlation_id_;
  int64_t index_ = 0;
  bool cancelled_ = false;
};

// {"text": …} or a stream of {"token": …}.
class InferWriter final : public AnswerWriter {
 public:
  InferWriter(Exchange exchange, bool streams) : exchange_(std::move(exchange)), streams_(streams) {}

  void begin() override {
    if (streams_) begin_events(*exchange_);
  }
  void token(const Choice&, const TokenEvent& event) override {
    if (streams_ && !event.text.empty()) exchange_->write(json_event({{"token", event.text}}));
  }
  void finish(const Choice&, const FinishEvent& event) override {
    if (streams_ && !event.text.empty()) exchange_->write(json_event({{"token", event.text}}));
  }
  void complete(const std::vector<Choice>& choices, const PromptEvent&) override {
    const Choice& choice = choices.front();
    if (streams_) {
      exchange_->write(event_text(choice.finish.reason == StopReason::cancelled ? "[CANCELLED]" : "[DONE]"));
      exchange_->end();
      return;
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    exchange_->respond(json_response(200, to_text({{"text", choice.text},
                                                   {"tokens_generated", choice.finish.usage.completion_tokens},
                                                   {"duration_ms", static_cast<int64_t>(milliseconds(seconds))},
                                                   {"stop_reason", to_string(choice.finish.reason)}})));
  }
  void fail(const ApiError& error) override {
    if (!streams_) {
      exchange_->respond(error.response(Dialect::fleet));
      return;
    }
    exchange_->write(error.stream_end(Dialect::fleet));
    exchange_->end();
  }

 private:
  Exchange exchange_;
  bool streams_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// A prompt that is too long is one violation among the others; alone it has a code of its own.
void check_length(Fields& fields, const Engine& engine, Request& request, bool is_limited) {
  const std::optional<ContextExcess> excess = find_context_excess(engine, request, is_limited);
  if (!excess) return;
  if (fields.violations().empty()) throw ApiError(400, kContextLengthExceeded, excess->message).with({excess->violation});
  fields.take({excess->violation});
}

Request read_request(const HttpRequest& http, const Service& service, bool& streams) {
  const Json& body = http.json();
  Fields fields(body);
  Request request;
  if (const auto operation = fields.text("operation"); operation && *operation != "infer") {
    fields.violate("operation", "must be \"infer\"");
  }
  if (fields.require("prompt")) {
    if (const auto prompt = fields.text("prompt")) request.prompt = *prompt;
    if (fields.find("prompt")->is_string() && request.prompt.empty()) fields.violate("prompt", "must not be empty");
  }
  read_generation(fields, service, request);
  // The fleet's contract; other clients may go higher.
  constexpr float kMaxFleetTemperature = 2;
  const float temperature = request.params.sampling.temperature;
  if (fields.has("temperature") && !fields.is_violated("temperature") && temperature > kMaxFleetTemperature) {
    fields.violate("temperature", "must be a number from 0 to 2");
  }
  read_adapters(fields, *service.engine, request.params);
  read_max_tokens(fields, service, {"max_tokens"}, kInferTokens, request);
  if (const auto value = fields.boolean("stream")) streams = *value;
  fields.take([&] {
    std::vector<Violation> more;
    for (ParameterViolation& violation : find_violations(request, service.engine->info())) {
      more.push_back({std::move(violation.parameter), std::move(violation.constraint), std::move(violation.value)});
    }
    // What a field's own range has said already is said once.
    std::erase_if(more, [&](const Violation& violation) { return fields.is_violated(violation.field); });
    return more;
  }());
  const bool is_limited = fields.has("max_tokens");
  if (!request.prompt.empty()) check_length(fields, *service.engine, request, is_limited && !fields.is_violated("max_tokens"));
  fields.check();
  name_user(http, request);
  fit_into_context(*service.engine, request, is_limited);
  return request;
}

void create_job(Worker& worker, Jobs& jobs, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  bool streams = true;
  Request request = read_request(http, *service, streams);
  const std::shared_ptr<Job> job = jobs.create();
  job->write(json_event({{"type", "started"}, {"job_id", job->id()}, {"model", service->model_id}, {"started_at", Worker::unix_time()}}));
  auto writer = std::make_unique<JobWriter>(job, http.request_id);
  writer->narrate(narrate_start(service->model_id, service->engine->info().device));
  try {
    job->set_answer(Answer::start(worker, service, std::move(request), nullptr, std::move(writer)));
  } catch (const ApiError& error) {
    job->end();
    throw;
  }
  exchange->respond(json_response(200, to_text({{"job_id", job->id()}, {"sse_url", fmt::format("/v1/jobs/{}/stream", job->id())}})));
}

std::shared_ptr<Job> find_job(Jobs& jobs, const HttpRequest& request) {
  std::shared_ptr<Job> job = jobs.find(std::string(request.parameter("id")));
  if (job == nullptr)
    throw ApiError(404, "JOB_NOT_FOUND", fmt::format("no job {}; jobs that have ended are kept for two minutes", request.parameter("id")));
  return job;
}

void infer(Worker& worker, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  bool streams = false;
  Request request = read_request(http, *service, streams);
  Answer::start(worker, service, std::move(request), exchange, std::make_unique<InferWriter>(exchange, streams));
}

void add_fleet_routes(Router& router, const ApiParts& parts) {
  for (const char* path : {"/v1/jobs", "/v1/inference"}) {
    router.add("POST", path, Dialect::fleet,
               [parts](HttpRequest& request, const Exchange& exchange) { create_job(parts.worker, parts.jobs, request, exchange); });
  }
  add_job_routes(router, parts.jobs);
  router.add("POST", "/v1/infer", Dialect::fleet,
             [parts](HttpRequest& request, const Exchange& exchange) { infer(parts.worker, request, exchange); });
}

}  // namespace

const Dialect Dialect::fleet = {.name = "fleet", .error_json = fleet_error, .stream_end = fleet_stream_end, .add_routes = add_fleet_routes};

void add_job_routes(Router& router, Jobs& jobs) {
  router.add("GET", "/v1/jobs/{id}/stream", Dialect::fleet,
             [&](HttpRequest& request, const Exchange& exchange) { find_job(jobs, request)->stream_to(exchange); });
  router.add("DELETE", "/v1/jobs/{id}", Dialect::fleet, [&](HttpRequest& request, const Exchange& exchange) {
    const std::shared_ptr<Job> job = find_job(jobs, request);
    exchange->respond(json_response(200, to_text({{"job_id", job->id()}, {"cancelled", job->cancel()}})));
  });
}

}  // namespace wick::server
