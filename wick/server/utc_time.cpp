#include "wick/server/utc_time.h"

#include <fmt/chrono.h>

namespace wick::server {

std::string utc_time(std::chrono::system_clock::time_point time) {
  const auto milliseconds = std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch().count() % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(time)), milliseconds);
}

}  // namespace wick::server
