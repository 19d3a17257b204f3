// A small HTTP/1.1 client for the fleet's addresses and for load tests: one POST of JSON, over TLS where the URL says so.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "wick/server/tls.h"

namespace wick::server {

struct HttpUrl {
  std::string host, port, path;
  bool is_secure = false;  // https

  // "host:port", with brackets around an IPv6 address.
  [[nodiscard]] std::string host_and_port() const;
  // "https://host:port"
  [[nodiscard]] std::string origin() const;
};

struct PostOptions {
  std::chrono::milliseconds limit;  // of all
  std::string api_key = {};         // empty: none
  TlsClient* tls = nullptr;         // needed for https
};

// Errors: invalid_argument naming the flag where the URL is not "http://host[:port][/path]" or such one of https; unsupported for https in
// a program without TLS.
[[nodiscard]] HttpUrl parse_http_url(const std::string& flag, const std::string& url);

// The status of the response. Errors: io where there is none within the time.
int post_json(const HttpUrl& url, const std::string& path, const std::string& body, const PostOptions& options);

// The same for a response that comes in pieces: `on_piece` is called with each as it comes.
int post_json_streamed(const HttpUrl& url, const std::string& path, const std::string& body, const PostOptions& options,
                       const std::function<void(std::string_view)>& on_piece);

}  // namespace wick::server
