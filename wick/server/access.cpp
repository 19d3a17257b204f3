#include "wick/server/access.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <utility>

#include "wick/base/ascii.h"
#include "wick/base/fail.h"
#include "wick/server/api_error.h"

namespace wick::server {
namespace {

// The key of "Authorization: Bearer KEY", or of Anthropic's "x-api-key: KEY".
std::string_view key_of(const HttpRequest& request) {
  constexpr std::string_view kScheme = "bearer ";  // in any case (RFC 9110, 11.1)
  if (const auto field = request.headers.find("Authorization")) {
    std::string_view value = *field;
    if (value.size() > kScheme.size() && ascii_lowercase(value.substr(0, kScheme.size())) == kScheme) {
      value.remove_prefix(kScheme.size());
      value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
      return value;
    }
  }
  return request.headers.find("x-api-key").value_or(std::string_view{});
}

}  // namespace

bool equals_in_constant_time(std::string_view left, std::string_view right) noexcept {
  // A volatile sum keeps compilers from leaving the loop early.
  volatile unsigned char difference = left.size() == right.size() ? 0 : 1;
  for (size_t i = 0; i < right.size(); ++i) {
    const char other = left.empty() ? '\0' : left[i % left.size()];
    difference = static_cast<unsigned char>(difference | (static_cast<unsigned char>(other) ^ static_cast<unsigned char>(right[i])));
  }
  return difference == 0;
}

std::vector<std::string> read_key_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) fail(ErrorCode::not_found, "--api-key-file {}: cannot be read", path.string());
  std::vector<std::string> keys;
  for (std::string line; std::getline(file, line);) {
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (!line.empty() && line.front() != '#') keys.push_back(line);
  }
  if (keys.empty()) fail(ErrorCode::invalid_argument, "--api-key-file {}: holds no key; write one a line", path.string());
  return keys;
}

void Access::check(HttpRequest& request) {
  if (!options_.keys.empty()) {
    const std::string_view given = key_of(request);
    if (given.empty()) {
      throw ApiError(401, "MISSING_API_KEY", "no API key: send it as Authorization: Bearer KEY");
    }
    size_t found = options_.keys.size();
    for (size_t i = 0; i < options_.keys.size(); ++i) {
      if (equals_in_constant_time(given, options_.keys[i])) found = i;
    }
    if (found == options_.keys.size()) throw ApiError(401, "INVALID_API_KEY", "this API key is not one of this server's");
    request.client = fmt::format("key {}", found + 1);
  } else {
    request.client = request.peer.substr(0, request.peer.rfind(':'));
  }
  if (options_.requests_per_minute > 0) limit(request.client);
}

void Access::limit(const std::string& client) {
  const auto now = std::chrono::steady_clock::now();
  const double most = std::max(options_.requests_per_minute, 1.0);
  const std::scoped_lock lock(mutex_);
  // Buckets that are full again say nothing: addresses that are gone must not fill the memory.
  constexpr size_t kBuckets = 10'000;
  if (buckets_.size() > kBuckets) {
    std::erase_if(buckets_, [&](const auto& entry) { return now - entry.second.filled > std::chrono::minutes(1); });
  }
  const auto [found, is_new] = buckets_.try_emplace(client, Bucket{.tokens = most, .filled = now});
  Bucket& bucket = found->second;
  const double minutes = std::chrono::duration<double>(now - bucket.filled).count() / 60;
  bucket.tokens = std::min(most, bucket.tokens + minutes * options_.requests_per_minute);
  bucket.filled = now;
  if (bucket.tokens < 1) {
    const double seconds = (1 - bucket.tokens) / options_.requests_per_minute * 60;
    throw ApiError(429, "RATE_LIMITED", fmt::format("more than {} requests a minute", options_.requests_per_minute))
        .retry_after(std::chrono::seconds(static_cast<int64_t>(std::ceil(seconds))));
  }
  bucket.tokens -= 1;
}

}  // namespace wick::server
