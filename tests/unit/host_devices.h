// The devices of a test program whose numbers are real and that need no driver: the CPU, and where it is linked the interpreter of kernels.
#pragma once

#include <vector>

#include "wick/device/device.h"
#include "wick/device/registry.h"

namespace wick {

[[nodiscard]] inline std::vector<Device> host_devices() {
  std::vector<Device> devices;
  for (const Backend* backend : linked_backends()) {
    if (backend->kind == DeviceKind::cpu || backend->kind == DeviceKind::reference) devices.push_back(Device::open({backend->kind, 0}));
  }
  return devices;
}

}  // namespace wick
