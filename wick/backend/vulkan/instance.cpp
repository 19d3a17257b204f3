#include "wick/backend/vulkan/instance.h"

#include <fmt/format.h>

#include <span>
#include <string>

#include "wick/base/dynlib.h"
#include "wick/base/error.h"

namespace wick::vulkan {
namespace {

Instance open_instance() {
  const std::string name = "libvulkan.so.1";
  try {
    const auto loader = open_first(std::span(&name, 1), "the loader of Vulkan's drivers",
                                   "install it (Debian's package libvulkan1) and the driver of the GPU");
    volkInitializeCustom(reinterpret_cast<PFN_vkGetInstanceProcAddr>(loader->require("vkGetInstanceProcAddr", "install Vulkan's own")));
  } catch (const Error& error) {
    return {VK_NULL_HANDLE, error.what()};
  }
  const uint32_t version = volkGetInstanceVersion();
  if (version < VK_API_VERSION_1_2) {
    return {VK_NULL_HANDLE, fmt::format("the Vulkan loader is of version {}.{}, and 1.2 is needed: install a newer one",
                                        VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version))};
  }
  const VkApplicationInfo application{
      .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .pApplicationName = "wick", .pEngineName = "wick", .apiVersion = VK_API_VERSION_1_3};
  const VkInstanceCreateInfo info{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
  Instance opened;
  if (const VkResult result = vkCreateInstance(&info, nullptr, &opened.handle); result != VK_SUCCESS) {
    return {VK_NULL_HANDLE,
            fmt::format("the Vulkan loader finds no driver (vkCreateInstance: {}); install the driver of the GPU", to_string(result))};
  }
  volkLoadInstance(opened.handle);
  return opened;
}

}  // namespace

const Instance& instance() {
  static const Instance opened = open_instance();
  return opened;
}

std::vector<VkPhysicalDevice> physical_devices() {
  if (instance().handle == VK_NULL_HANDLE) return {};
  return list<VkPhysicalDevice>(vkEnumeratePhysicalDevices, instance().handle);
}

}  // namespace wick::vulkan
