// The names of the backends, stated once. A name exists in every build; whether its backend is linked is the program's matter.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace [[gnu::visibility("default")]] wick {

// The eight accelerator kinds; `reference`, which runs kernels in the interpreter; and `null`, which plans without memory and computes
// nothing.
enum class DeviceKind : uint8_t { cpu, cuda, rocm, metal, opencl, vulkan, oneapi, webgpu, reference, null };

inline constexpr std::array<std::string_view, 10> kDeviceKindNames = {"cpu",    "cuda",   "rocm",   "metal",     "opencl",
                                                                      "vulkan", "oneapi", "webgpu", "reference", "null"};

[[nodiscard]] constexpr std::string_view to_string(DeviceKind kind) noexcept { return kDeviceKindNames[static_cast<size_t>(kind)]; }

[[nodiscard]] constexpr std::optional<DeviceKind> parse_device_kind(std::string_view name) noexcept {
  for (size_t id = 0; id < kDeviceKindNames.size(); ++id) {
    if (kDeviceKindNames[id] == name) return static_cast<DeviceKind>(id);
  }
  return std::nullopt;
}

}  // namespace wick
