// VK_KHR_cooperative_matrix (Khronos, 2023), for which the oldest headers that we build with have no names.
#pragma once

#include <vector>

#include "wick/backend/vulkan/api.h"
#include "wick/op/device_caps.h"

namespace wick::vulkan {

inline constexpr const char* kCooperativeMatrixExtension = "VK_KHR_cooperative_matrix";

// VkPhysicalDeviceCooperativeMatrixFeaturesKHR.
struct CooperativeMatrixFeatures {
  VkStructureType sType;
  void* pNext;
  VkBool32 cooperativeMatrix;
  VkBool32 cooperativeMatrixRobustBufferAccess;
};
inline constexpr auto kCooperativeMatrixFeaturesType = static_cast<VkStructureType>(1000506000);

// The products of f16 into f32 that a subgroup computes, the largest first.
[[nodiscard]] std::vector<TileShape> tile_shapes(VkPhysicalDevice device);

}  // namespace wick::vulkan
