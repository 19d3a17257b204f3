#include "wick/server/request_log.h"

#include <fmt/format.h>

#include <atomic>
#include <utility>

#include "wick/server/forwarding_exchange.h"
#include "wick/server/request_id.h"
#include "wick/server/utc_time.h"

namespace wick::server {
namespace {

// What each line of a request begins with.
Json request_members(const std::string& id, const std::string& method, const std::string& path, int status) {
  return {{"request_id", id}, {"method", method}, {"path", path}, {"status", status}};
}

class WatchedExchange final : public ForwardingExchange {
 public:
  WatchedExchange(const RequestLog& log, const HttpRequest& request, Exchange inner)
      : ForwardingExchange(std::move(inner)), log_(log), method_(request.method), path_(request.path), peer_(request.peer) {
    if (const auto parent = request.headers.find("traceparent")) trace_ = *parent;
  }
  ~WatchedExchange() override {
    const double milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_).count();
    Json members = request_members(id_, method_, path_, status_.load());
    members["ms"] = std::round(milliseconds * 100) / 100;
    members["peer"] = peer_;
    if (!trace_.empty()) members["traceparent"] = trace_;
    if (is_gone()) members["client_gone"] = true;
    log_.event("info", "request", members);
  }

  void add_header(std::string name, std::string value) override {
    if (name == "X-Request-Id") id_ = value;
    ForwardingExchange::add_header(std::move(name), std::move(value));
  }
  void respond(HttpResponse response) override {
    int none = 0;
    status_.compare_exchange_strong(none, response.status);
    ForwardingExchange::respond(std::move(response));
  }
  void begin(int status, HeaderFields headers, std::string heartbeat) override {
    int none = 0;
    status_.compare_exchange_strong(none, status);
    ForwardingExchange::begin(status, std::move(headers), std::move(heartbeat));
  }

 private:
  const RequestLog& log_;
  std::string method_, path_, peer_, id_, trace_;
  std::atomic<int> status_{0};
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

void RequestLog::event(std::string_view level, std::string_view name, const Json& members) const {
  const std::string time = utc_time(std::chrono::system_clock::now());
  if (as_json_) {
    Json json = {{"time", time}, {"level", level}, {"event", name}};
    json.update(members);
    write_(to_text(json));
    return;
  }
  std::string line = fmt::format("{} {}", time, name);
  for (const auto& [key, value] : members.items()) {
    // A path or id of a client never breaks the line, nor the terminal.
    const std::string text = value.is_string() ? value.get<std::string>() : to_text(value);
    const bool is_plain = text.find_first_of(" \"\\\n\r\t\x1b") == std::string::npos && !text.empty();
    line += fmt::format(" {}={}", key, is_plain ? text : to_text(value));
  }
  write_(line);
}

Exchange RequestLog::watch(const HttpRequest& request, Exchange exchange) const {
  return std::make_shared<WatchedExchange>(*this, request, std::move(exchange));
}

void RequestLog::answered(const HttpRequest& request, int status, const std::string& message) const {
  Json members = request_members(request.request_id, request.method, request.path, status);
  members["peer"] = request.peer;
  if (const auto parent = request.headers.find("traceparent")) members["traceparent"] = *parent;
  if (!message.empty()) members["message"] = message;
  event("info", "request", members);
}

}  // namespace wick::server
