// Points of time in UTC, as logs, the fleet and responses write them (ISO 8601) and as HTTP does (RFC 9110, 5.6.7).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace wick::server {

// "2026-11-25T22:08:40.881Z"
[[nodiscard]] std::string utc_time(std::chrono::system_clock::time_point time);

// "2026-11-25T22:08:40Z", from Unix time.
[[nodiscard]] std::string utc_seconds(int64_t unix_time);

// "Wed, 25 Nov 2026 22:08:40 GMT"
[[nodiscard]] std::string http_date(std::chrono::system_clock::time_point time);

}  // namespace wick::server
