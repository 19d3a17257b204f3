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

std::string ApiError::body(const Dialect& dialect) const { return to_text(dialect.error_json(*this)); }

std::string ApiError::stream_end(const Dialect& dialect) const { return dialect.stream_end(*this, body(dialect)); }

HttpResponse ApiError::response(const Dialect& dialect) const {
  HttpResponse response = json_response(status_, body(dialect));
  if (retry_after_.count() > 0) response.headers.add("Retry-After", std::to_string(retry_after_.count()));
  if (status_ == 401) response.headers.add("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace wick::server
