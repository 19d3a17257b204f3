// An ApiError is the answer to a request that cannot be fulfilled; each dialect has its own words for it.
#pragma once

#include <chrono>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/error.h"
#include "wick/server/dialect.h"
#include "wick/server/http_message.h"

namespace wick::server {

// A field of a request that is wrong.
struct Violation {
  std::string field;       // "messages[2].content"
  std::string constraint;  // "must be from 0 to 2"
  std::string value;       // as JSON, shortened
};

inline constexpr const char* kContextLengthExceeded = "CONTEXT_LENGTH_EXCEEDED";

class ApiError : public std::exception {
 public:
  ApiError(int status, std::string code, std::string message) : status_(status), code_(std::move(code)), message_(std::move(message)) {}
  // 400 INVALID_REQUEST with all violations.
  explicit ApiError(std::vector<Violation> violations);
  // The library's error as a status and a code.
  explicit ApiError(const Error& error);

  // The fields that it is about, for the dialects that list them.
  ApiError& with(std::vector<Violation> violations);
  ApiError& retry_after(std::chrono::seconds time);
  // The tokens of a prompt and of the context that it exceeds, for the dialects that tell them.
  ApiError& exceeding(int64_t prompt_tokens, int64_t context);

  [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }
  [[nodiscard]] int status() const noexcept { return status_; }
  // "INVALID_REQUEST", "CONTEXT_LENGTH_EXCEEDED", "QUEUE_FULL" …
  [[nodiscard]] const std::string& code() const noexcept { return code_; }
  [[nodiscard]] const std::vector<Violation>& violations() const noexcept { return violations_; }
  [[nodiscard]] bool can_retry() const noexcept { return can_retry_; }

  // llama-server's words for a prompt that is longer than the context, which its clients compare; OpenAI's compare the code.
  void add_context_excess(Json& error) const;

  // The response, its body alone, and how a stream that has begun ends.
  [[nodiscard]] HttpResponse response(const Dialect& dialect) const;
  [[nodiscard]] std::string body(const Dialect& dialect) const;
  [[nodiscard]] std::string stream_end(const Dialect& dialect) const;

 private:
  int status_ = 400;
  std::string code_;
  std::string message_;
  std::vector<Violation> violations_;
  bool can_retry_ = false;
  std::chrono::seconds retry_after_{0};
  int64_t prompt_tokens_ = 0, context_ = 0;
};

}  // namespace wick::server
