#include "wick/backend/vulkan/cooperative_matrix.h"

#include <algorithm>

#include "wick/backend/vulkan/instance.h"

namespace wick::vulkan {
namespace {

// VkCooperativeMatrixPropertiesKHR.
struct Properties {
  VkStructureType sType;
  void* pNext;
  uint32_t m, n, k;
  int32_t left, right, sum, result;  // VkComponentTypeKHR
  VkBool32 saturates;
  int32_t scope;  // VkScopeKHR
};
constexpr auto kPropertiesType = static_cast<VkStructureType>(1000506001);
constexpr int32_t kFloat16 = 0, kFloat32 = 1, kSubgroup = 3;

using GetProperties = VkResult(VKAPI_PTR*)(VkPhysicalDevice, uint32_t*, Properties*);

}  // namespace

std::vector<TileShape> tile_shapes(VkPhysicalDevice device) {
  const auto get =
      reinterpret_cast<GetProperties>(vkGetInstanceProcAddr(instance().handle, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  uint32_t count = 0;
  if (get == nullptr || get(device, &count, nullptr) != VK_SUCCESS) return {};
  Properties empty{};
  empty.sType = kPropertiesType;
  std::vector<Properties> offers(count, empty);
  if (get(device, &count, offers.data()) != VK_SUCCESS) return {};
  std::vector<TileShape> shapes;
  for (const Properties& p : offers) {
    const bool halves = p.left == kFloat16 && p.right == kFloat16 && p.sum == kFloat32 && p.result == kFloat32;
    if (halves && p.scope == kSubgroup) shapes.push_back({p.m, p.n, p.k});
  }
  const auto size = [](const TileShape& s) { return uint64_t{s.m} * s.n * s.k; };
  std::stable_sort(shapes.begin(), shapes.end(), [&](const TileShape& a, const TileShape& b) { return size(a) > size(b); });
  return shapes;
}

}  // namespace wick::vulkan
