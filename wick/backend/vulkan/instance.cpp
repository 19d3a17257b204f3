#include "wick/backend/vulkan/instance.h"

#include <fmt/format.h>

#include "wick/base/dynlib.h"
#include "wick/base/error.h"

namespace wick::vulkan {
namespace {

Instance open_instance() {
  constexpr const char* kNoLoader = "there is no Vulkan loader (libvulkan.so.1); install one, and the driver of the GPU";
  try {
    const DynamicLibrary loader("libvulkan.so.1");
    auto* const find = reinterpret_cast<PFN_vkGetInstanceProcAddr>(loader.find("vkGetInstanceProcAddr"));
    if (find == nullptr) return {VK_NULL_HANDLE, kNoLoader};
    volkInitializeCustom(find);
  } catch (const Error&) {
    return {VK_NULL_HANDLE, kNoLoader};
  }
  const uint32_t version = volkGetInstanceVersion();
  if (version < VK_API_VERSION_1_2) {
    return {VK_NULL_HANDLE, fmt::format("the Vulkan loader is of version {}.{}, and 1.2 is needed", VK_API_VERSION_MAJOR(version),
                                        VK_API_VERSION_MINOR(version))};
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
