#include "wick/backend/vulkan/physical_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "wick/backend/vulkan/instance.h"
#include "wick/backend/vulkan/quirks.h"

namespace wick::vulkan {
namespace {

// Kernels read vectors of four words, so what a kernel sees of a buffer is rounded up to whole ones.
constexpr uint64_t kVectorBytes = 16;

// What one of Vulkan's structures of properties tells, which has this type.
template <class T>
T properties_of(VkPhysicalDevice device, VkStructureType type) {
  auto asked = typed<T>(type);
  VkPhysicalDeviceProperties2 core{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &asked};
  vkGetPhysicalDeviceProperties2(device, &core);
  return asked;
}

// What core properties do not tell: the number of multiprocessors.
int compute_units(VkPhysicalDevice device, const Features& features) {
  if (features.has(VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME)) {
    const auto type = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV;
    return static_cast<int>(properties_of<VkPhysicalDeviceShaderSMBuiltinsPropertiesNV>(device, type).shaderSMCount);
  }
  if (features.has(VK_AMD_SHADER_CORE_PROPERTIES_2_EXTENSION_NAME)) {
    const auto type = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_2_AMD;
    return static_cast<int>(properties_of<VkPhysicalDeviceShaderCoreProperties2AMD>(device, type).activeComputeUnitCount);
  }
  return 1;
}

// A kernel's lanes rely on the size it was built for, so a pipeline must be able to ask for it.
void set_subgroups(DeviceCaps& caps, VkPhysicalDevice device, const VkPhysicalDeviceVulkan11Properties& offered, bool sized) {
  constexpr VkSubgroupFeatureFlags kNeeded =
      VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT | VK_SUBGROUP_FEATURE_BALLOT_BIT;
  if ((offered.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) == 0) return;
  if ((offered.subgroupSupportedOperations & kNeeded) != kNeeded || offered.subgroupSize < 2 || !sized) return;
  const auto sizes = properties_of<VkPhysicalDeviceSubgroupSizeControlProperties>(
      device, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES);
  if ((sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) == 0) return;
  caps.min_subgroup_size = static_cast<int>(sizes.minSubgroupSize);
  caps.max_subgroup_size = static_cast<int>(sizes.maxSubgroupSize);
  caps.max_group_size = std::min(caps.max_group_size, sizes.maxComputeWorkgroupSubgroups * sizes.minSubgroupSize);
}

void set_limits(DeviceCaps& caps, const VkPhysicalDeviceLimits& limits) {
  caps.max_shared_bytes = limits.maxComputeSharedMemorySize;
  caps.max_buffer_bytes = limits.maxStorageBufferRange / kVectorBytes * kVectorBytes;
  caps.buffer_offset_alignment = static_cast<uint32_t>(std::max<VkDeviceSize>(limits.minStorageBufferOffsetAlignment, kVectorBytes));
  caps.max_group_size = std::min(limits.maxComputeWorkGroupInvocations, limits.maxComputeWorkGroupSize[0]);
  caps.max_storage_buffers = std::min({limits.maxPerStageDescriptorStorageBuffers, limits.maxDescriptorSetStorageBuffers,
                                       limits.maxPerStageResources, kMaxBuffersOfALaunch});
  caps.max_parameter_bytes = limits.maxPushConstantsSize;
  std::copy_n(limits.maxComputeWorkGroupCount, 3, caps.max_group_count.begin());
}

// VkCooperativeMatrixPropertiesKHR.
struct TileProperties {
  VkStructureType sType;
  void* pNext;
  uint32_t m, n, k;
  int32_t left, right, sum, result;  // VkComponentTypeKHR
  VkBool32 saturates;
  int32_t scope;  // VkScopeKHR
};
constexpr auto kTilePropertiesType = static_cast<VkStructureType>(1000506001);
constexpr int32_t kFloat16 = 0, kFloat32 = 1, kSubgroup = 3;

using GetTileProperties = VkResult(VKAPI_PTR*)(VkPhysicalDevice, uint32_t*, TileProperties*);

// The products of f16 into f32 that a subgroup computes, the largest first.
std::vector<TileShape> tile_shapes(VkPhysicalDevice device) {
  const auto get =
      reinterpret_cast<GetTileProperties>(vkGetInstanceProcAddr(instance().handle, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  uint32_t count = 0;
  if (get == nullptr || get(device, &count, nullptr) != VK_SUCCESS) return {};
  std::vector<TileProperties> offers(count, typed<TileProperties>(kTilePropertiesType));
  if (get(device, &count, offers.data()) != VK_SUCCESS) return {};
  std::vector<TileShape> shapes;
  for (const TileProperties& p : offers) {
    const bool halves = p.left == kFloat16 && p.right == kFloat16 && p.sum == kFloat32 && p.result == kFloat32;
    if (halves && p.scope == kSubgroup) shapes.push_back({p.m, p.n, p.k});
  }
  const auto size = [](const TileShape& s) { return uint64_t{s.m} * s.n * s.k; };
  std::stable_sort(shapes.begin(), shapes.end(), [&](const TileShape& a, const TileShape& b) { return size(a) > size(b); });
  return shapes;
}

uint64_t device_local_bytes(const VkPhysicalDeviceMemoryProperties& memory) {
  uint64_t most = 0;
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
    if ((memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0) most = std::max<uint64_t>(most, memory.memoryHeaps[i].size);
  }
  return most;
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
  const auto vulkan11 = properties_of<VkPhysicalDeviceVulkan11Properties>(device, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES);
  const auto vulkan12 = properties_of<VkPhysicalDeviceVulkan12Properties>(device, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES);
  caps.driver = fmt::format("{} {}", vulkan12.driverName, vulkan12.driverInfo);
  set_limits(caps, core.limits);
  set_subgroups(caps, device, vulkan11, features.sized_subgroups());
  caps.compute_units = compute_units(device, features);
  features.describe(caps);
  if (features.tiles() && caps.min_subgroup_size > 1) caps.tiles = tile_shapes(device);
  caps.f32_subnormals = vulkan12.shaderDenormPreserveFloat32 == VK_TRUE;  // shaders then ask for it
  apply_quirks(caps, core, vulkan12.driverID);

  vkGetPhysicalDeviceMemoryProperties(device, &memory);
  caps.memory_bytes = device_local_bytes(memory);
  max_allocation = vulkan11.maxMemoryAllocationSize;
  constexpr VkMemoryPropertyFlags kShared =
      VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  shares_memory = (type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU || type == VK_PHYSICAL_DEVICE_TYPE_CPU) &&
                  std::any_of(memory.memoryTypes, memory.memoryTypes + memory.memoryTypeCount,
                              [](const VkMemoryType& offered) { return (offered.propertyFlags & kShared) == kShared; });

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
  // In the order of VkPhysicalDeviceType.
  constexpr std::array kHardware{Hardware::other, Hardware::integrated_gpu, Hardware::discrete_gpu, Hardware::virtual_gpu,
                                 Hardware::processor};
  return static_cast<size_t>(type) < kHardware.size() ? kHardware[static_cast<size_t>(type)] : Hardware::other;
}

}  // namespace wick::vulkan
