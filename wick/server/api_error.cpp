#include "wick/server/api_error.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "wick/base/ascii.h"
#include "wick/base/fail.h"
#include "wick/engine/engine_options.h"
#include "wick/server/json.h"
#include "wick/server/setting_flags.h"

namespace wick::server {
namespace {

std::string joined(const std::vector<Violation>& violations) {
  std::string text;
  for (const Violation& violation : violations) {
    if (!text.empty()) text += "; ";
    text += fmt::format("{}: {}", violation.field, violation.constraint);
    if (!violation.value.empty()) text += fmt::format(", got {}", violation.value);
  }
  return text;
}

// OpenAI's and Anthropic's word for the kind of an error.
std::string_view openai_type(int status) {
  if (status == 401) return "authentication_error";
  if (status == 403) return "permission_error";
  if (status == 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

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

// llama.cpp's: "invalid_request_error", "unavailable_error" …
std::string_view llama_type(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 404: return "not_found_error";
    case 501: return "not_supported_error";
    case 503: return "unavailable_error";
    default: return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

struct Meaning {
  int status;
  const char* code;
  bool can_retry = false;
};

Meaning meaning_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::context_full: return {400, kContextLengthExceeded};
    case ErrorCode::invalid_argument:
    case ErrorCode::index_out_of_range:
    case ErrorCode::corrupt_file: return {400, "INVALID_REQUEST"};
    case ErrorCode::not_found: return {404, "NOT_FOUND"};
    case ErrorCode::unsupported: return {501, "UNSUPPORTED"};
    case ErrorCode::out_of_memory: return {503, "INSUFFICIENT_MEMORY", true};
    case ErrorCode::device_lost: return {500, "DEVICE_LOST", true};
    case ErrorCode::io:
    case ErrorCode::shape_mismatch:
    case ErrorCode::dtype_mismatch:
    case ErrorCode::device_mismatch:
    case ErrorCode::backend_not_linked:
    case ErrorCode::no_device: break;
  }
  return {500, "INFERENCE_FAILED"};
}

// Who asks over HTTP cannot change what the server was started with; who started it can.
std::string spelled_for_client(Setting setting, const std::string& value) { return "the server's " + with_value(flag_of(setting), value); }

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

}  // namespace

ApiError::ApiError(std::vector<Violation> violations)
    : code_("INVALID_REQUEST"), message_(joined(violations)), violations_(std::move(violations)) {}

ApiError::ApiError(const Error& error) : message_(wick::message_of(error, spelled_for_client)) {
  if (const auto* busy = dynamic_cast<const EngineBusy*>(&error)) {
    const bool is_full = busy->reason() == EngineBusy::Reason::queue_full;
    status_ = is_full ? 429 : 503;
    code_ = is_full ? "QUEUE_FULL" : "NOT_READY";
    retry_after(std::max(busy->retry_after(), std::chrono::seconds(1)));
    return;
  }
  const auto [status, code, can_retry] = meaning_of(error.code());
  status_ = status;
  code_ = code;
  can_retry_ = can_retry;
}

ApiError& ApiError::with(std::vector<Violation> violations) {
  violations_ = std::move(violations);
  return *this;
}

ApiError& ApiError::retry_after(std::chrono::seconds time) {
  retry_after_ = time;
  can_retry_ = true;
  return *this;
}

ApiError& ApiError::exceeding(int64_t prompt_tokens, int64_t context) {
  prompt_tokens_ = prompt_tokens;
  context_ = context;
  return *this;
}

void ApiError::add_context_excess(Json& error) const {
  if (code_ != kContextLengthExceeded) return;
  error["type"] = "exceed_context_size_error";
  if (context_ > 0) error.update({{"n_prompt_tokens", prompt_tokens_}, {"n_ctx", context_}});
}

std::string ApiError::body(Dialect dialect) const {
  Json json;
  switch (dialect) {
    case Dialect::openai: {
      // Clients compare the code with this one.
      const std::string code = code_ == kContextLengthExceeded ? "context_length_exceeded" : code_;
      json["error"] = {{"message", message_}, {"type", openai_type(status_)}, {"param", nullptr}, {"code", code}};
      if (!violations_.empty()) json["error"]["param"] = violations_.front().field;
      add_context_excess(json["error"]);
      break;
    }
    case Dialect::anthropic: json = {{"type", "error"}, {"error", {{"type", anthropic_type(status_)}, {"message", message_}}}}; break;
    case Dialect::ollama: json = {{"error", message_}}; break;
    case Dialect::llama:
      json["error"] = {{"code", status_}, {"message", message_}, {"type", llama_type(status_)}};
      add_context_excess(json["error"]);
      break;
    case Dialect::fleet:
      json["error"] = {{"code", code_}, {"message", message_}, {"retriable", can_retry_}};
      if (!violations_.empty()) json["errors"] = violations_json(violations_);
      break;
  }
  return to_text(json);
}

HttpResponse ApiError::response(Dialect dialect) const {
  HttpResponse response = json_response(status_, body(dialect));
  if (retry_after_.count() > 0) response.headers.add("Retry-After", std::to_string(retry_after_.count()));
  if (status_ == 401) response.headers.add("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace wick::server
