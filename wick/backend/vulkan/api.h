// Vulkan's functions, which volk finds while the program runs, and what their results mean.
#pragma once

#include <volk.h>

#include <string_view>
#include <vector>

namespace wick::vulkan {

// "VK_ERROR_DEVICE_LOST"; "an unknown VkResult" where it is none that this backend meets.
[[nodiscard]] std::string_view to_string(VkResult result) noexcept;

// Errors: VulkanError, of the codes out_of_memory, no_device for a device that is gone, and unsupported for everything else.
void check(VkResult result, std::string_view call);

// Elements of a Vulkan enumeration: calls the function for the count, and again for the elements.
template <class T, class Function, class... Arguments>
[[nodiscard]] std::vector<T> list(Function function, Arguments... arguments) {
  uint32_t count = 0;
  function(arguments..., &count, nullptr);
  std::vector<T> elements(count);
  function(arguments..., &count, elements.data());
  elements.resize(count);
  return elements;
}

// A structure of Vulkan's, told what it is.
template <class T>
[[nodiscard]] T typed(VkStructureType type) {
  T structure{};
  structure.sType = type;
  return structure;
}

}  // namespace wick::vulkan
