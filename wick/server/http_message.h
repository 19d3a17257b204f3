// HTTP messages without a network: a request, a response, and their header fields.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/server/json.h"

namespace wick::server {

// Header fields in their order; names are compared without regard to case (RFC 9110, 5.1).
class HeaderFields {
 public:
  using Field = std::pair<std::string, std::string>;

  HeaderFields() = default;
  HeaderFields(std::initializer_list<Field> fields) : fields_(fields) {}

  void add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
  // Replaces all fields of that name.
  void set(std::string_view name, std::string value);
  // The first field of that name.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept;
  [[nodiscard]] const std::vector<Field>& all() const noexcept { return fields_; }

 private:
  std::vector<Field> fields_;
};

struct Route;

struct HttpRequest {
  std::string method = {};                                           // "POST"
  std::string target = {};                                           // as it was sent: "/v1/jobs/job-1/stream?from=3"
  std::string path = {};                                             // decoded, without the query; never with a NUL or a ".." segment
  std::vector<std::pair<std::string, std::string>> query = {};       // decoded
  std::vector<std::pair<std::string, std::string>> parameters = {};  // what a route's pattern matched: {"id", "job-1"}
  const Route* route = nullptr;                                      // the router's, once it has found one
  HeaderFields headers = {};
  std::string body = {};
  std::string peer = {};        // "127.0.0.1:51234"; "unix" on a Unix socket
  std::string request_id = {};  // X-Request-Id of the client, or one of ours
  std::string client = {};      // which key it came with, for limits per key: "", or "key 2"

  [[nodiscard]] std::string_view parameter(std::string_view name) const noexcept;
  [[nodiscard]] std::optional<std::string_view> query_value(std::string_view name) const noexcept;

  // The body as JSON, which is parsed when it is first asked for. Errors: parse_body's.
  [[nodiscard]] const Json& json() const;

  mutable std::shared_ptr<const Json> parsed = {};  // by json(); may be dropped to save memory
};

// Splits and decodes a target, "/path?query" or "http://host/path?query". False if it is neither, or has a bad %-escape, a NUL, or ".." as
// a segment.
[[nodiscard]] bool parse_target(std::string_view target, HttpRequest& request);

struct HttpResponse {
  int status = 200;
  HeaderFields headers = {};
  std::string body = {};
};

[[nodiscard]] HttpResponse json_response(int status, std::string body);

// A header field as it goes over the wire. Its value holds no line break there, whoever wrote it.
void append_field(std::string& text, std::string_view name, std::string_view value);

// "Not Found" for 404.
[[nodiscard]] std::string_view reason_phrase(int status) noexcept;

}  // namespace wick::server
