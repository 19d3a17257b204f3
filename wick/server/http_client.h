// A small HTTP/1.1 client for the fleet's addresses: one POST of JSON, without TLS.
#pragma once

#include <chrono>
#include <string>

namespace wick::server {

struct HttpUrl {
  std::string host, port, path;
};

// Errors: invalid_argument naming the flag where the URL is not "http://host[:port][/path]".
[[nodiscard]] HttpUrl parse_http_url(const std::string& flag, const std::string& url);

// The status of the response. Errors: io where there is none within the time.
int post_json(const HttpUrl& url, const std::string& path, const std::string& body, std::chrono::milliseconds limit);

}  // namespace wick::server
