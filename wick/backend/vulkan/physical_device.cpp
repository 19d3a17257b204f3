#include "wick/backend/vulkan/physical_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "wick/backend/vulkan/quirks.h"

namespace wick::vulkan {
namespace {

// Kernels read vectors of four words, so what a kernel sees of a buffer is rounded up to whole ones.
constexpr uint64_t kVectorBytes = 16;

struct Properties {
  explicit Properties(VkPhysicalDevice device) {
    core.pNext = &vulkan11;
    vulkan11.pNext = &vulkan12;
    vulkan12.pNext = &sizes;
    vkGetPhysicalDeviceProperties2(device, &core);
  }

  VkPhysicalDeviceProperties2 core = typed<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  VkPhysicalDeviceVulkan11Properties vulkan11 =
      typed<VkPhysicalDeviceVulkan11Properties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES);
  VkPhysicalDeviceVulkan12Properties vulkan12 =
      typed<VkPhysicalDeviceVulkan12Properties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES);
  VkPhysicalDeviceSubgroupSizeControlProperties sizes =
      typed<VkPhysicalDeviceSubgroupSizeControlProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES);
};

// What core properties do not tell: the number of multiprocessors.
int compute_units(VkPhysicalDevice device, const Features& features) {
  VkPhysicalDeviceProperties2 properties = typed<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  if (features.has(VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME)) {
    auto units = typed<VkPhysicalDeviceShaderSMBuiltinsPropertiesNV>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV);
    properties.pNext = &units;
    vkGetPhysicalDeviceProperties2(device, &properties);
    return static_cast<int>(units.shaderSMCount);
  }
  if (features.has(VK_AMD_SHADER_CORE_PROPERTIES_2_EXTENSION_NAME)) {
    auto units = typed<VkPhysicalDeviceShaderCoreProperties2AMD>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_2_AMD);
    properties.pNext = &units;
    vkGetPhysicalDeviceProperties2(device, &properties);
    return static_cast<int>(units.activeComputeUnitCount);
  }
  return 1;
}

// A kernel's lanes rely on the size it was built for, so a pipeline must be able to ask for it.
void set_subgroups(DeviceCaps& caps, const Properties& properties, const Features& features) {
  const VkPhysicalDeviceVulkan11Properties& subgroups = properties.vulkan11;
  constexpr VkSubgroupFeatureFlags kNeeded =
      VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT | VK_SUBGROUP_FEATURE_BALLOT_BIT;
  if ((subgroups.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) == 0) return;
  if ((subgroups.subgroupSupportedOperations & kNeeded) != kNeeded || subgroups.subgroupSize < 2) return;
  if (features.sized_subgroups() && (properties.sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0) {
    caps.min_subgroup_size = static_cast<int>(properties.sizes.minSubgroupSize);
    caps.max_subgroup_size = static_cast<int>(properties.sizes.maxSubgroupSize);
    const uint32_t lanes = properties.sizes.maxComputeWorkgroupSubgroups * properties.sizes.minSubgroupSize;
    caps.max_group_size = std::min(caps.max_group_size, lanes);
  }
}

void set_limits(DeviceCaps& caps, const VkPhysicalDeviceLimits& limits) {
  caps.max_shared_bytes = limits.maxComputeSharedMemorySize;
  caps.max_buffer_bytes = limits.maxStorageBufferRange / kVectorBytes * kVectorBytes;
  caps.buffer_offset_alignment = static_cast<uint32_t>(std::max<VkDeviceSize>(limits.minStorageBufferOffsetAlignment, kVectorBytes));
  caps.max_group_size = std::min(limits.maxComputeWorkGroupInvocations, limits.maxComputeWorkGroupSize[0]);
  caps.max_storage_buffers =
      std::min({limits.maxPerStageDescriptorStorageBuffers, limits.maxDescriptorSetStorageBuffers, limits.maxPerStageResources});
  caps.max_parameter_bytes = limits.maxPushConstantsSize;
  std::copy_n(limits.maxComputeWorkGroupCount, 3, caps.max_group_count.begin());
}

uint64_t device_local_bytes(const VkPhysicalDeviceMemoryProperties& memory) {
  uint64_t most = 0;
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
    if ((memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0) most = std::max<uint64_t>(most, memory.memoryHeaps[i].size);
  }
  return most;
}

bool has_memory(const VkPhysicalDeviceMemoryProperties& memory, VkMemoryPropertyFlags flags) {
  return std::any_of(memory.memoryTypes, memory.memoryTypes + memory.memoryTypeCount,
                     [&](const VkMemoryType& type) { return (type.propertyFlags & flags) == flags; });
}

}  // namespace

PhysicalDevice::PhysicalDevice(VkPhysicalDevice device) : handle(device), features(device) {
  VkPhysicalDeviceProperties core;
  vkGetPhysicalDeviceProperties(device, &core);
  caps.name = core.deviceName;
  type = core.deviceType;
  if (core.apiVersion < VK_API_VERSION_1_2) {
    unsuitable = fmt::format("its driver offers Vulkan {}.{}, and 1.2 is needed", VK_API_VERSION_MAJOR(core.apiVersion),
                             VK_API_VERSION_MINOR(core.apiVersion));
    return;
  }
  const Properties properties(device);
  caps.driver = fmt::format("{} {}", properties.vulkan12.driverName, properties.vulkan12.driverInfo);
  set_limits(caps, core.limits);
  set_subgroups(caps, properties, features);
  caps.compute_units = compute_units(device, features);
  caps.f16_arithmetic = features.f16();
  caps.int8_dot = features.int8_dot();
  caps.storage_8bit = features.storage_8bit();
  caps.storage_16bit = features.storage_16bit();
  caps.int64 = features.int64();
  caps.f64_arithmetic = features.f64();
  caps.f32_atomic_add = features.f32_atomic_add();
  if (features.tiles() && features.f16() && caps.min_subgroup_size > 1) caps.tiles = tile_shapes(device);
  caps.f32_subnormals = properties.vulkan12.shaderDenormPreserveFloat32 == VK_TRUE;  // shaders then ask for it
  apply_quirks(caps, core, properties.vulkan12.driverID);

  vkGetPhysicalDeviceMemoryProperties(device, &memory);
  caps.memory_bytes = device_local_bytes(memory);
  max_allocation = properties.vulkan11.maxMemoryAllocationSize;
  shares_memory =
      (type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU || type == VK_PHYSICAL_DEVICE_TYPE_CPU) &&
      has_memory(memory, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);

  const auto families = list<VkQueueFamilyProperties>(vkGetPhysicalDeviceQueueFamilyProperties, device);
  const auto family = std::find_if(families.begin(), families.end(),
                                   [](const VkQueueFamilyProperties& f) { return (f.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0; });
  if (family == families.end() || !features.timelines()) {
    unsuitable = family == families.end() ? "it has no queue that computes" : "its driver has no timeline semaphores";
    return;
  }
  queue_family = static_cast<uint32_t>(family - families.begin());
  // Timestamps of fewer bits wrap around.
  if (family->timestampValidBits == 64) seconds_per_tick = core.limits.timestampPeriod * 1e-9;
}

Hardware PhysicalDevice::hardware() const noexcept {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return Hardware::discrete_gpu;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return Hardware::integrated_gpu;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return Hardware::virtual_gpu;
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return Hardware::processor;
    default: return Hardware::other;
  }
}

}  // namespace wick::vulkan
