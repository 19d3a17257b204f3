// Anthropic's API: POST /v1/messages and /v1/messages/count_tokens.
#include <utility>

#include "wick/server/adapter_fields.h"
#include "wick/server/anthropic_answer.h"
#include "wick/server/anthropic_request.h"
#include "wick/server/dialect.h"
#include "wick/server/event_stream.h"
#include "wick/server/generation_fields.h"
#include "wick/server/router.h"

namespace wick::server {
namespace {

std::string_view anthropic_type(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 413: return "request_too_large";
    case 429: return "rate_limit_error";
    case 503: return "overloaded_error";
    default: return status >= 500 ? "api_error" : "invalid_request_error";
  }
}

Json anthropic_error(const ApiError& error) {
  return {{"type", "error"}, {"error", {{"type", anthropic_type(error.status())}, {"message", error.what()}}}};
}

std::string anthropic_stream_end(const ApiError& /*error*/, const std::string& body) { return event_text(body, "error"); }

void messages(Worker& worker, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const Json& body = http.json();
  Fields fields(body);
  ChatRequest chat;
  read_anthropic_chat(fields, chat);
  read_generation(fields, *service, chat.request);
  read_adapters(fields, *service->engine, chat.request.params);
  read_stops(fields, "stop_sequences", chat.request.params.stop);
  fields.require("max_tokens");
  if (const auto value = fields.integer("max_tokens", 1)) chat.request.params.max_tokens = *value;
  chat.streams = fields.boolean("stream").value_or(false);
  fields.check();
  name_user(http, chat.request);
  prepare_chat(*service, chat, false);  // Anthropic's clients always send a large max_tokens
  auto writer = anthropic_writer(exchange, service, chat);
  Answer::start(worker, service, std::move(chat.request), exchange, std::move(writer));
}

void count_input_tokens(Worker& worker, const HttpRequest& http, const Exchange& exchange) {
  const std::shared_ptr<Service> service = worker.service();
  const Json& body = http.json();
  Fields fields(body);
  ChatRequest chat;
  read_anthropic_chat(fields, chat);
  fields.check();
  render_chat(*service, chat);
  exchange->respond(json_response(200, to_text({{"input_tokens", count_tokens(*service, chat)}})));
}

void add_anthropic_routes(Router& router, const ApiParts& parts) {
  router.add("POST", "/v1/messages", Dialect::anthropic,
             [&worker = parts.worker](HttpRequest& request, const Exchange& exchange) { messages(worker, request, exchange); });
  router.add("POST", "/v1/messages/count_tokens", Dialect::anthropic,
             [&worker = parts.worker](HttpRequest& request, const Exchange& exchange) { count_input_tokens(worker, request, exchange); });
}

}  // namespace

const Dialect Dialect::anthropic = {
    .name = "anthropic", .error_json = anthropic_error, .stream_end = anthropic_stream_end, .add_routes = add_anthropic_routes};

}  // namespace wick::server
