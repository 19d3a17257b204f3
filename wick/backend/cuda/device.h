// A FoundDevice is one device as the driver describes it.
#pragma once

#include <string>
#include <vector>

#include "wick/backend/cuda/api.h"
#include "wick/op/device_caps.h"

namespace wick::cuda {

struct FoundDevice {
  int id = 0;          // the driver's number
  int capability = 0;  // 10 · major + minor
  DeviceCaps caps;
  int score = 0;
};

// Every device of the driver, in its order. Errors: those of the driver.
[[nodiscard]] std::vector<FoundDevice> find_devices(const Api& api);

}  // namespace wick::cuda
