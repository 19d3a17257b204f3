#include "backend/vulkan/quirks.h"

#include <string_view>

namespace wick::vulkan {
namespace {

struct Quirk {
  VkDriverId driver;
  void (*apply)(DeviceCaps& caps);
  std::string_view reason, link;
};

constexpr Quirk kQuirks[] = {
    {VK_DRIVER_ID_MOLTENVK, [](DeviceCaps& caps) { caps.min_subgroup_size = caps.max_subgroup_size = 1; },
     "reports subgroups of 64 lanes where they are of 32", "https://github.com/ggml-org/llama.cpp/issues/20029"},
};

}  // namespace

void apply_quirks(DeviceCaps& caps, const VkPhysicalDeviceVulkan12Properties& driver) {
  for (const Quirk& quirk : kQuirks) {
    if (quirk.driver == driver.driverID) quirk.apply(caps);
  }
}

}  // namespace wick::vulkan
