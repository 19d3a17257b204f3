// OpenAI's API: completions, chat, embeddings. Its responses are an API of their own.
#include "wick/server/api_error.h"
#include "wick/server/completions_api.h"
#include "wick/server/dialect.h"
#include "wick/server/embeddings_api.h"
#include "wick/server/event_stream.h"
#include "wick/server/openai_chat_api.h"

namespace wick::server {
namespace {

std::string_view openai_type(int status) {
  if (status == 401) return "authentication_error";
  if (status == 403) return "permission_error";
  if (status == 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

Json openai_error(const ApiError& error) {
  // Clients compare the code with this one.
  const std::string code = error.code() == kContextLengthExceeded ? "context_length_exceeded" : error.code();
  Json json = {{"message", error.what()}, {"type", openai_type(error.status())}, {"param", nullptr}, {"code", code}};
  if (!error.violations().empty()) json["param"] = error.violations().front().field;
  error.add_context_excess(json);
  return {{"error", std::move(json)}};
}

std::string openai_stream_end(const ApiError& /*error*/, const std::string& body) {
  return event_text(body) + event_text(std::string_view("[DONE]"));
}

void add_openai_routes(Router& router, const ApiParts& parts) {
  add_completion_routes(router, parts.worker);
  add_openai_chat_routes(router, parts.worker);
  add_openai_embedding_routes(router, parts.worker);
}

}  // namespace

const Dialect Dialect::openai = {
    .name = "openai", .error_json = openai_error, .stream_end = openai_stream_end, .add_routes = add_openai_routes};

}  // namespace wick::server
