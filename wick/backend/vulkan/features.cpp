#include "wick/backend/vulkan/features.h"

#include <algorithm>

namespace wick::vulkan {

Features::Features(VkPhysicalDevice device) {
  VkPhysicalDeviceProperties properties;
  vkGetPhysicalDeviceProperties(device, &properties);
  version_ = properties.apiVersion;
  if (version_ < VK_API_VERSION_1_2) return;
  offered_ = list<VkExtensionProperties>(vkEnumerateDeviceExtensionProperties, device, nullptr);
  core_.pNext = &vulkan11_;
  vulkan11_.pNext = &vulkan12_;
  chain(subgroups_, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME, VK_API_VERSION_1_3);
  chain(dot_, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME, VK_API_VERSION_1_3);
  chain(atomics_, VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME, UINT32_MAX);
  chain(tiles_, kCooperativeMatrixExtension, UINT32_MAX);
  vkGetPhysicalDeviceFeatures2(device, &core_);
  keep_wanted();
}

bool Features::has(std::string_view extension) const noexcept {
  return std::any_of(offered_.begin(), offered_.end(),
                     [&](const VkExtensionProperties& offer) { return offer.extensionName == extension; });
}

template <class T>
void Features::chain(T& structure, const char* extension, uint32_t core_since) {
  if (version_ < core_since) {
    if (!has(extension)) return;
    extensions_.push_back(extension);
  }
  structure.pNext = vulkan12_.pNext;
  vulkan12_.pNext = &structure;
}

void Features::keep_wanted() {
  const VkPhysicalDeviceFeatures core = core_.features;
  core_.features = {};
  core_.features.shaderInt16 = core.shaderInt16;
  core_.features.shaderInt64 = core.shaderInt64;
  core_.features.shaderFloat64 = core.shaderFloat64;
  const VkPhysicalDeviceVulkan11Features vulkan11 = vulkan11_;
  vulkan11_ = typed<VkPhysicalDeviceVulkan11Features>(vulkan11.sType);
  vulkan11_.pNext = vulkan11.pNext;
  vulkan11_.storageBuffer16BitAccess = vulkan11.storageBuffer16BitAccess;
  const VkPhysicalDeviceVulkan12Features vulkan12 = vulkan12_;
  vulkan12_ = typed<VkPhysicalDeviceVulkan12Features>(vulkan12.sType);
  vulkan12_.pNext = vulkan12.pNext;
  vulkan12_.storageBuffer8BitAccess = vulkan12.storageBuffer8BitAccess;
  vulkan12_.shaderInt8 = vulkan12.shaderInt8;
  vulkan12_.shaderFloat16 = vulkan12.shaderFloat16;
  vulkan12_.shaderSubgroupExtendedTypes = vulkan12.shaderSubgroupExtendedTypes;
  vulkan12_.timelineSemaphore = vulkan12.timelineSemaphore;
  const VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomics = atomics_;
  atomics_ = typed<VkPhysicalDeviceShaderAtomicFloatFeaturesEXT>(atomics.sType);
  atomics_.pNext = atomics.pNext;
  atomics_.shaderBufferFloat32AtomicAdd = atomics.shaderBufferFloat32AtomicAdd;
  atomics_.shaderSharedFloat32AtomicAdd = atomics.shaderSharedFloat32AtomicAdd;
  tiles_.cooperativeMatrixRobustBufferAccess = VK_FALSE;
}

}  // namespace wick::vulkan
