// The optional abilities of Vulkan that kernels use, as a driver lists them and as a device is opened with them.
#pragma once

#include <string_view>
#include <vector>

#include "wick/backend/vulkan/api.h"
#include "wick/op/device_caps.h"

namespace wick::vulkan {

// VkPhysicalDeviceCooperativeMatrixFeaturesKHR (VK_KHR_cooperative_matrix, 2023), for which the oldest headers that we build with have no
// name.
struct CooperativeMatrixFeatures {
  VkStructureType sType;
  void* pNext;
  VkBool32 cooperativeMatrix;
  VkBool32 cooperativeMatrixRobustBufferAccess;
};
inline constexpr auto kCooperativeMatrixFeaturesType = static_cast<VkStructureType>(1000506000);

class Features {
 public:
  // Queries the features that the driver supports.
  explicit Features(VkPhysicalDevice device);
  Features(const Features&) = delete;
  Features& operator=(const Features&) = delete;

  [[nodiscard]] bool has(std::string_view extension) const noexcept;
  // The supported features that kernels use, with which a device is opened. Lives as long as this object.
  [[nodiscard]] const VkPhysicalDeviceFeatures2& wanted() const noexcept { return core_; }
  [[nodiscard]] const std::vector<const char*>& extensions() const noexcept { return extensions_; }

  // Writes the features that kernels may use.
  void describe(DeviceCaps& caps) const;
  [[nodiscard]] bool timelines() const noexcept { return vulkan12_.timelineSemaphore; }
  [[nodiscard]] bool tiles() const noexcept { return tiles_.cooperativeMatrix && vulkan12_.shaderFloat16; }
  // Pipelines can ask for a size of subgroup, and for whole ones.
  [[nodiscard]] bool sized_subgroups() const noexcept { return subgroups_.subgroupSizeControl && subgroups_.computeFullSubgroups; }

 private:
  // Adds a structure to the chain where the device has it: by its version, or by an extension.
  template <class T>
  void chain(T& structure, const char* extension, uint32_t core_since);
  void keep_wanted();

  uint32_t version_ = 0;
  std::vector<VkExtensionProperties> offered_;
  std::vector<const char*> extensions_;
  VkPhysicalDeviceFeatures2 core_ = typed<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
  VkPhysicalDeviceVulkan11Features vulkan11_ =
      typed<VkPhysicalDeviceVulkan11Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
  VkPhysicalDeviceVulkan12Features vulkan12_ =
      typed<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
  VkPhysicalDeviceSubgroupSizeControlFeatures subgroups_ =
      typed<VkPhysicalDeviceSubgroupSizeControlFeatures>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES);
  VkPhysicalDeviceShaderIntegerDotProductFeatures dot_ =
      typed<VkPhysicalDeviceShaderIntegerDotProductFeatures>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES);
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomics_ =
      typed<VkPhysicalDeviceShaderAtomicFloatFeaturesEXT>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT);
  CooperativeMatrixFeatures tiles_ = typed<CooperativeMatrixFeatures>(kCooperativeMatrixFeaturesType);
};

}  // namespace wick::vulkan
