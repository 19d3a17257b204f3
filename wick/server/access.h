// Access decides who may ask for what: API keys, and a limit on how often each may ask.
#pragma once

#include <chrono>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "wick/server/http_message.h"

namespace wick::server {

struct AccessOptions {
  std::vector<std::string> keys = {};  // empty: everyone may ask
  double requests_per_minute = 0;      // of each key, or each address where there are none; 0: no limit
};

// Keys from a file, one a line; empty lines and those that begin with # are left out.
// Errors: not_found, io; invalid_argument for a file without a key.
[[nodiscard]] std::vector<std::string> read_key_file(const std::filesystem::path& path);

// Any number of threads may use it.
class Access {
 public:
  explicit Access(AccessOptions options) : options_(std::move(options)) {}

  // Sets the request's client. Errors: ApiError with status 401 (MISSING_API_KEY, INVALID_API_KEY) or 429 (RATE_LIMITED).
  void check(HttpRequest& request);
  [[nodiscard]] bool needs_key() const noexcept { return !options_.keys.empty(); }

 private:
  // A token bucket: full it lets a minute's worth of requests through at once.
  struct Bucket {
    double tokens = 0;
    std::chrono::steady_clock::time_point filled = {};
  };
  void limit(const std::string& client);

  AccessOptions options_;
  std::mutex mutex_;
  std::unordered_map<std::string, Bucket> buckets_;
};

// Compares in time that depends on the lengths alone.
[[nodiscard]] bool equals_in_constant_time(std::string_view left, std::string_view right) noexcept;

}  // namespace wick::server
