#include "wick/backend/vulkan/features.h"

#include <algorithm>
#include <initializer_list>

namespace wick::vulkan {
namespace {

// A structure of abilities with no others than these.
template <class T>
T kept(const T& all, std::initializer_list<VkBool32 T::*> wanted) {
  T result{};
  for (VkBool32 T::* const ability : wanted) result.*ability = all.*ability;
  return result;
}
// The same of a structure that is in a chain.
template <class T>
void keep(T& all, std::initializer_list<VkBool32 T::*> wanted) {
  T result = kept(all, wanted);
  result.sType = all.sType;
  result.pNext = all.pNext;
  all = result;
}

}  // namespace

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
  chain(tiles_, "VK_KHR_cooperative_matrix", UINT32_MAX);
  vkGetPhysicalDeviceFeatures2(device, &core_);
  keep_wanted();
}

bool Features::has(std::string_view extension) const noexcept {
  return std::any_of(offered_.begin(), offered_.end(),
                     [&](const VkExtensionProperties& offer) { return offer.extensionName == extension; });
}

void Features::describe(DeviceCaps& caps) const {
  caps.f16_arithmetic = vulkan12_.shaderFloat16;
  caps.f64_arithmetic = core_.features.shaderFloat64;
  caps.int64 = core_.features.shaderInt64;
  caps.int8_dot = dot_.shaderIntegerDotProduct;
  caps.storage_8bit = vulkan12_.storageBuffer8BitAccess && vulkan12_.shaderInt8;
  caps.storage_16bit = vulkan11_.storageBuffer16BitAccess && core_.features.shaderInt16;
  caps.f32_atomic_add = atomics_.shaderBufferFloat32AtomicAdd && atomics_.shaderSharedFloat32AtomicAdd;
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
  core_.features = kept(core_.features, {&VkPhysicalDeviceFeatures::shaderInt16, &VkPhysicalDeviceFeatures::shaderInt64,
                                         &VkPhysicalDeviceFeatures::shaderFloat64});
  using Features11 = VkPhysicalDeviceVulkan11Features;
  using Features12 = VkPhysicalDeviceVulkan12Features;
  using Atomics = VkPhysicalDeviceShaderAtomicFloatFeaturesEXT;
  keep(vulkan11_, {&Features11::storageBuffer16BitAccess});
  keep(vulkan12_, {&Features12::storageBuffer8BitAccess, &Features12::shaderInt8, &Features12::shaderFloat16,
                   &Features12::shaderSubgroupExtendedTypes, &Features12::timelineSemaphore});
  keep(atomics_, {&Atomics::shaderBufferFloat32AtomicAdd, &Atomics::shaderSharedFloat32AtomicAdd});
  tiles_.cooperativeMatrixRobustBufferAccess = VK_FALSE;
}

}  // namespace wick::vulkan
