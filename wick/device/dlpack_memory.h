// How DLPack (specification 1.1) numbers the memory of devices.
#pragma once

#include <array>
#include <cstdint>

#include "wick/device/device_kind.h"

namespace wick {

// DLPack's device types: memory of a kind's devices, and host memory pinned for them.
struct DlpackMemory {
  DeviceKind kind;
  int32_t of_device;
  int32_t of_pinned_host;
};
inline constexpr std::array kDlpackMemories = {DlpackMemory{DeviceKind::cuda, 2, 3}, DlpackMemory{DeviceKind::rocm, 10, 11}};

}  // namespace wick
