// A PhysicalDevice is a device as its driver describes it: what Wick's kernels may use of it, and what opening it takes.
#pragma once

#include <memory>
#include <string>

#include "wick/backend/vulkan/features.h"
#include "wick/device/device_score.h"
#include "wick/op/device_caps.h"

namespace wick::vulkan {

inline constexpr uint32_t kMaxBuffersOfALaunch = 1024;

struct PhysicalDevice {
  explicit PhysicalDevice(VkPhysicalDevice device);

  VkPhysicalDevice handle;
  std::string unsuitable;  // why it cannot be used; empty: it can
  VkPhysicalDeviceType type{};
  Features features;
  VkPhysicalDeviceMemoryProperties memory{};
  uint64_t max_allocation = 0;  // bytes of one piece of memory
  bool shares_memory = false;   // with the processor: the host can write where kernels read
  uint32_t queue_family = 0;
  double seconds_per_tick = 0;  // of timestamps; 0: it has none
  DeviceCaps caps;

  [[nodiscard]] Hardware hardware() const noexcept;
};

}  // namespace wick::vulkan
