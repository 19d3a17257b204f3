// How much of a device all programs of the machine use together, as its driver tells.
#pragma once

#include <cstdint>
#include <optional>

namespace [[gnu::visibility("default")]] wick {

struct DeviceUsage {
  uint64_t memory_used = 0, memory_total = 0;  // bytes
  std::optional<double> busy;                  // 0 to 1: the part of the last second or less in which something ran
  std::optional<double> watts;
  std::optional<int> celsius;
};

}  // namespace wick
