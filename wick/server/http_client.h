// A small HTTP/1.1 client for the fleet's addresses and for load tests: one POST of JSON, without TLS.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace wick::server {

struct HttpUrl {
  std::string host, port, path;

  // "host:port", with brackets around an IPv6 address.
  [[nodiscard]] std::string host_and_port() const;
};

// Errors: invalid_argument naming the flag where the URL is not "http://host[:port][/path]".
[[nodiscard]] HttpUrl parse_http_url(const std::string& flag, const std::string& url);

// The status of the response. Errors: io where there is none within the time.
int post_json(const HttpUrl& url, const std::string& path, const std::string& body, std::chrono::milliseconds limit);

// The same for a response that comes in pieces: `on_piece` is called with each as it comes. `api_key`: empty for none.
int post_json_streamed(const HttpUrl& url, const std::string& path, const std::string& body, const std::string& api_key,
                       std::chrono::milliseconds limit, const std::function<void(std::string_view)>& on_piece);

}  // namespace wick::server
