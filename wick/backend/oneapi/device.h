// A FoundDevice is one device of one Level Zero driver, as the driver describes it; an Installation is what a machine has of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "wick/backend/oneapi/api.h"
#include "wick/backend/oneapi/compiler.h"
#include "wick/op/device_caps.h"

namespace wick::oneapi {

struct FoundDevice {
  DriverHandle driver = nullptr;
  DeviceHandle handle = nullptr;
  DeviceCaps caps;
  int score = 0;
  uint32_t device_id = 0;       // what the compiler knows it by
  uint32_t queue_group = 0;     // one that runs kernels
  std::string source_options;   // of OpenCL C to SPIR-V
  std::string module_options;   // of SPIR-V to the device's code
  double seconds_per_tick = 0;  // of timestamps, which count up to 2^tick_bits
  uint32_t tick_bits = 64;
};

// Every GPU and processor of every driver. Errors: OneApiError.
[[nodiscard]] std::vector<FoundDevice> find_devices(const Api& api);

struct Installation {
  std::shared_ptr<const Api> api;
  std::shared_ptr<const Compiler> compiler;
  std::vector<FoundDevice> devices;
  std::string missing;  // why there are none to use
};

// Looked at once: drivers read their settings when the loader starts.
[[nodiscard]] const Installation& installation();

}  // namespace wick::oneapi
