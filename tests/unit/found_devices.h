// The devices of this machine that a test program's backends find.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wick/device/device.h"
#include "wick/device/registry.h"

namespace wick {

// All but null. The drivers are asked once: some take 50 ms for an answer, and each test is a process.
inline const std::vector<DeviceLocation>& found_devices() {
  static const std::vector<DeviceLocation> devices = [] {
    std::vector<DeviceLocation> found;
    for (const Backend* backend : linked_backends()) {
      if (backend->kind == DeviceKind::null) continue;
      for (const DeviceInfo& device : backend->probe()) found.push_back({backend->kind, device.index});
    }
    return found;
  }();
  return devices;
}

// Those whose ops are kernels.
inline std::vector<DeviceLocation> found_kernel_devices() {
  std::vector<DeviceLocation> found = found_devices();
  std::erase_if(found, [](const DeviceLocation& device) { return device.kind == DeviceKind::cpu; });
  return found;
}

// Of a test with that device as its parameter.
inline std::string device_name(const testing::TestParamInfo<DeviceLocation>& info) {
  return std::string(to_string(info.param.kind)) + std::to_string(info.param.index);
}

}  // namespace wick
