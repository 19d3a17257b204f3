// Drivers that promise what they do not keep.
#pragma once

#include "wick/backend/vulkan/api.h"
#include "wick/op/device_caps.h"

namespace wick::vulkan {

// Takes from the caps what this driver is known not to keep.
void apply_quirks(DeviceCaps& caps, const VkPhysicalDeviceProperties& device, VkDriverId driver);

}  // namespace wick::vulkan
