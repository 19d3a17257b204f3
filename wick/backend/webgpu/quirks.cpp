#include "wick/backend/webgpu/adapter.h"

namespace wick::webgpu {
namespace {

// A row applies to adapters whose names begin and end so.
struct Quirk {
  std::string_view begin, end;
  uint32_t subgroup_size;
  std::string_view reason, link;
};

constexpr std::string_view kReason = "wgpu-native 29 tells no sizes, of a driver with one size (Mesa 22.3)";
constexpr std::string_view kLink = "https://gitlab.freedesktop.org/mesa/mesa/-/blob/22.3/src/gallium/frontends/lavapipe/lvp_device.c";
constexpr Quirk kQuirks[] = {
    {"llvmpipe (", " 128 bits)", 4, kReason, kLink},
    {"llvmpipe (", " 256 bits)", 8, kReason, kLink},
    {"llvmpipe (", " 512 bits)", 16, kReason, kLink},
};

}  // namespace

uint32_t known_subgroup_size(std::string_view adapter) noexcept {
  for (const Quirk& quirk : kQuirks) {
    if (adapter.starts_with(quirk.begin) && adapter.ends_with(quirk.end)) return quirk.subgroup_size;
  }
  return 0;
}

}  // namespace wick::webgpu
