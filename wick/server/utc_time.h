// Points of time as logs and the fleet have them: ISO 8601, in UTC.
#pragma once

#include <chrono>
#include <string>

namespace wick::server {

// "2026-11-25T22:08:40.881Z"
[[nodiscard]] std::string utc_time(std::chrono::system_clock::time_point time);

}  // namespace wick::server
