#include "wick/server/route/upstream_message.h"

#include <algorithm>
#include <array>
#include <span>

#include "wick/base/ascii.h"
#include "wick/base/fail.h"
#include "wick/server/event_stream.h"
#include "wick/server/json.h"

namespace wick::server {
namespace {

// Of one connection alone (RFC 9110, 7.6.1), and the body's length, which each connection states for itself.
constexpr auto kConnectionFields =
    std::to_array<std::string_view>({"connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization", "te",
                                     "trailer", "transfer-encoding", "upgrade", "content-length"});
// What the router checks itself, or writes anew.
constexpr auto kRequestFields = std::to_array<std::string_view>({"host", "expect", "origin", "x-request-id"});
constexpr auto kResponseFields = std::to_array<std::string_view>({"date", "x-request-id"});

bool is_one_of(std::string_view name, std::span<const std::string_view> names) { return std::ranges::find(names, name) != names.end(); }

// Whether the Connection field names this one as its own.
bool is_named_by_connection(std::string_view name, const HeaderFields& headers) {
  for (const auto& [field, value] : headers.all()) {
    if (ascii_lowercase(field) != "connection") continue;
    const std::string list = ascii_lowercase(value);
    for (size_t begin = 0; begin < list.size();) {
      const size_t end = std::min(list.find(',', begin), list.size());
      std::string_view word = std::string_view(list).substr(begin, end - begin);
      word.remove_prefix(std::min(word.find_first_not_of(" \t"), word.size()));
      word = word.substr(0, word.find_last_not_of(" \t") + 1);
      if (word == name) return true;
      begin = end + 1;
    }
  }
  return false;
}

// The key that goes to a replica: its own comes before that of all.
const std::string& key_for(const ReplicaAddress& to, const ReplicaKey& key) { return to.key.empty() ? key.key : to.key; }

void append_key(std::string& text, const std::string& key) {
  if (!key.empty()) append_field(text, "Authorization", "Bearer " + key);
}

std::string host_of(const ReplicaAddress& to) { return to.unix_socket.empty() ? to.url.host_and_port() : "localhost"; }

std::string request_line(std::string_view method, std::string_view target, const ReplicaAddress& to) {
  std::string text = fmt::format("{} {}{} HTTP/1.1\r\n", method, to.url.path, target);
  append_field(text, "Host", host_of(to));
  append_field(text, "Connection", "close");
  return text;
}

// The target without scheme and host, which a proxy's client may send.
std::string_view path_and_query(std::string_view target) {
  if (target.starts_with('/')) return target;
  const size_t authority = target.find("://");
  if (authority == std::string_view::npos) return "/";
  const size_t end = target.find_first_of("/?", authority + 3);
  return end == std::string_view::npos ? "/" : target.substr(end);
}

}  // namespace

std::string upstream_head(const HttpRequest& request, size_t body_bytes, const ReplicaAddress& to, const ReplicaKey& key) {
  std::string_view target = path_and_query(request.target);
  std::string text = request_line(request.method == "HEAD" ? "GET" : request.method, target.starts_with('?') ? "/" : target, to);
  for (const auto& [name, value] : request.headers.all()) {
    const std::string field = ascii_lowercase(name);
    const bool is_key = field == "authorization" || field == "x-api-key";
    if (is_one_of(field, kConnectionFields) || is_one_of(field, kRequestFields) || is_named_by_connection(field, request.headers)) continue;
    if (is_key && (key.hides_client_key || !key_for(to, key).empty())) continue;
    append_field(text, name, value);
  }
  append_key(text, key_for(to, key));
  append_field(text, "X-Request-Id", request.request_id);
  if (body_bytes > 0 || request.method == "POST" || request.method == "PUT" || request.method == "PATCH") {
    append_field(text, "Content-Length", std::to_string(body_bytes));
  }
  return text + "\r\n";
}

std::string upstream_head(std::string_view method, std::string_view path, const ReplicaAddress& to, const ReplicaKey& key) {
  std::string text = request_line(method, path, to);
  append_key(text, key_for(to, key));
  return text + "\r\n";
}

HeaderFields passed_on(const HeaderFields& headers) {
  HeaderFields passed;
  for (const auto& [name, value] : headers.all()) {
    const std::string field = ascii_lowercase(name);
    if (is_one_of(field, kConnectionFields) || is_one_of(field, kResponseFields) || is_named_by_connection(field, headers)) continue;
    passed.add(name, value);
  }
  return passed;
}

StreamUnit stream_unit(const HeaderFields& headers) {
  // What is packed has no lines of its own.
  if (ascii_lowercase(headers.find("Content-Encoding").value_or("identity")) != "identity") return StreamUnit::bytes;
  const std::string type = ascii_lowercase(headers.find("Content-Type").value_or(""));
  if (type.starts_with("text/event-stream")) return StreamUnit::events;
  return type.starts_with("application/x-ndjson") ? StreamUnit::lines : StreamUnit::bytes;
}

size_t whole_units(StreamUnit unit, std::string_view text) {
  if (unit == StreamUnit::bytes) return text.size();
  if (unit == StreamUnit::lines) return text.rfind('\n') + 1;
  size_t end = 0;
  for (const std::string_view empty_line : {"\n\n", "\r\n\r\n", "\r\r"}) {
    const size_t found = text.rfind(empty_line);
    if (found != std::string_view::npos) end = std::max(end, found + empty_line.size());
  }
  return end;
}

std::string stream_error(StreamUnit unit, const Dialect& dialect, const ApiError& error) {
  return unit == StreamUnit::bytes ? std::string() : error.stream_end(dialect);
}

}  // namespace wick::server
