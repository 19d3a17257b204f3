#include "wick/backend/vulkan/quirks.h"

#include <string_view>

namespace wick::vulkan {
namespace {

struct Quirk {
  VkDriverId driver;
  uint32_t vendor;
  uint32_t last_version;  // as the driver writes it; the last that it was seen in
  void (*apply)(DeviceCaps& caps);
  std::string_view reason, link;
};

constexpr Quirk kQuirks[] = {
    {VK_DRIVER_ID_MOLTENVK, 0x1002, 10401, [](DeviceCaps& caps) { caps.min_subgroup_size = caps.max_subgroup_size = 1; },
     "reports subgroups of 64 lanes on AMD's devices, whose shuffles reach 32", "https://github.com/KhronosGroup/MoltenVK/issues/2756"},
};

}  // namespace

void apply_quirks(DeviceCaps& caps, const VkPhysicalDeviceProperties& device, VkDriverId driver) {
  for (const Quirk& quirk : kQuirks) {
    if (quirk.driver == driver && quirk.vendor == device.vendorID && device.driverVersion <= quirk.last_version) quirk.apply(caps);
  }
}

}  // namespace wick::vulkan
