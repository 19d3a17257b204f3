// The Vulkan backend: every device whose driver offers Vulkan 1.2, with kernels in GLSL.
#include <fmt/format.h>

#include <utility>

#include "wick/backend/vulkan/driver.h"
#include "wick/backend/vulkan/instance.h"
#include "wick/device/kernel_runtime.h"
#include "wick/device/registry.h"
#include "wick/device/variants.h"

namespace wick::vulkan {
namespace {

// Before OpenCL without PTX: a model of 8 B parameters in Q4_K_M decoded 177 tokens/s through Vulkan and 136 through that on one H200.
constexpr int kPreference = 2;

std::vector<DeviceInfo> probe() {
  std::vector<DeviceInfo> found;
  const std::vector<VkPhysicalDevice> devices = physical_devices();
  for (size_t i = 0; i < devices.size(); ++i) {
    const PhysicalDevice device(devices[i]);
    if (device.unsuitable.empty()) found.push_back({static_cast<int>(i), device.caps, device_score(device.hardware(), kPreference)});
  }
  return found;
}

std::unique_ptr<Runtime> open(int index, const DeviceOptions& options) {
  const std::vector<VkPhysicalDevice> devices = physical_devices();
  if (static_cast<size_t>(index) >= devices.size()) return nullptr;
  const bool plain = asks_for_plain(DeviceKind::vulkan, index, options.variant);
  auto device = std::make_unique<PhysicalDevice>(devices[static_cast<size_t>(index)]);
  if (!device->unsuitable.empty()) return nullptr;
  if (plain) {
    device->caps = plain_caps(device->caps);
    device->shares_memory = false;  // plain is also a device whose memory the host does not see
  }
  return std::make_unique<KernelRuntime>(std::make_unique<Driver>(std::make_shared<Device>(std::move(device))), options);
}

std::string missing(int index) {
  if (instance().handle == VK_NULL_HANDLE) return instance().missing;
  const std::vector<VkPhysicalDevice> devices = physical_devices();
  if (devices.empty()) return "the Vulkan loader finds a driver, but no device; look with vulkaninfo --summary";
  if (index < 0 || static_cast<size_t>(index) >= devices.size()) return "";
  const PhysicalDevice device(devices[static_cast<size_t>(index)]);
  return device.unsuitable.empty() ? "" : fmt::format("{}: {}", device.caps.name, device.unsuitable);
}

}  // namespace

extern const Backend kBackend;
const Backend kBackend = {DeviceKind::vulkan, probe, open, plain_and_native, missing};

}  // namespace wick::vulkan
