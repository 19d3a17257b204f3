// The log of a server: one line a request, as text or JSON. Never what a prompt or an answer says.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "wick/server/http_exchange.h"
#include "wick/server/http_message.h"
#include "wick/server/json.h"

namespace wick::server {

class RequestLog {
 public:
  RequestLog(bool as_json, std::function<void(const std::string&)> write) : as_json_(as_json), write_(std::move(write)) {}

  // A line of its own: {"time", "level", "event", …} or "event name=value …".
  void event(std::string_view level, std::string_view name, const Json& members) const;
  // Wraps an exchange so that its end is logged with status and time.
  [[nodiscard]] Exchange watch(const HttpRequest& request, Exchange exchange) const;
  // The line of a request that no exchange is watched for; `message`: why it was refused, where the status alone does not say it.
  void answered(const HttpRequest& request, int status, const std::string& message = "") const;

 private:
  bool as_json_;
  std::function<void(const std::string&)> write_;
};

}  // namespace wick::server
