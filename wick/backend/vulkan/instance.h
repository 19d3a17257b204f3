// This process's door to the drivers of Vulkan: the loader and one instance of it.
#pragma once

#include <string>
#include <vector>

#include "wick/backend/vulkan/api.h"

namespace wick::vulkan {

struct Instance {
  VkInstance handle = VK_NULL_HANDLE;
  std::string missing;  // why there is none
};

// Opened by the first who asks, and open until the process ends: volk's functions are the process's.
[[nodiscard]] const Instance& instance();
// In the order of the loader; empty without an instance.
[[nodiscard]] std::vector<VkPhysicalDevice> physical_devices();

}  // namespace wick::vulkan
