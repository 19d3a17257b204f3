#include "wick/backend/vulkan/api.h"

#include <fmt/format.h>

#include "wick/backend/vulkan/vulkan.h"

namespace wick::vulkan {

std::string_view to_string(VkResult result) noexcept {
  struct Row {
    VkResult result;
    std::string_view name;
  };
  constexpr Row kNames[] = {
      {VK_ERROR_OUT_OF_HOST_MEMORY, "VK_ERROR_OUT_OF_HOST_MEMORY"},       {VK_ERROR_OUT_OF_DEVICE_MEMORY, "VK_ERROR_OUT_OF_DEVICE_MEMORY"},
      {VK_ERROR_INITIALIZATION_FAILED, "VK_ERROR_INITIALIZATION_FAILED"}, {VK_ERROR_DEVICE_LOST, "VK_ERROR_DEVICE_LOST"},
      {VK_ERROR_EXTENSION_NOT_PRESENT, "VK_ERROR_EXTENSION_NOT_PRESENT"}, {VK_ERROR_FEATURE_NOT_PRESENT, "VK_ERROR_FEATURE_NOT_PRESENT"},
      {VK_ERROR_INCOMPATIBLE_DRIVER, "VK_ERROR_INCOMPATIBLE_DRIVER"},     {VK_ERROR_TOO_MANY_OBJECTS, "VK_ERROR_TOO_MANY_OBJECTS"},
      {VK_ERROR_OUT_OF_POOL_MEMORY, "VK_ERROR_OUT_OF_POOL_MEMORY"},       {VK_ERROR_UNKNOWN, "VK_ERROR_UNKNOWN"},
  };
  for (const Row& row : kNames) {
    if (row.result == result) return row.name;
  }
  return "an unknown VkResult";
}

void check(VkResult result, std::string_view call) {
  if (result >= VK_SUCCESS) return;
  const bool memory = result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY;
  const bool gone = result == VK_ERROR_DEVICE_LOST || result == VK_ERROR_INITIALIZATION_FAILED || result == VK_ERROR_INCOMPATIBLE_DRIVER;
  const ErrorCode code = memory ? ErrorCode::out_of_memory : gone ? ErrorCode::no_device : ErrorCode::unsupported;
  throw VulkanError(code, fmt::format("vulkan: {}: {} ({})", call, to_string(result), static_cast<int>(result)),
                    {std::string(call), result, std::string(to_string(result))});
}

}  // namespace wick::vulkan
