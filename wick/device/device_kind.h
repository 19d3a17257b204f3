// The names of the backends, stated once. A name exists in every build; whether its backend is linked is the program's matter.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace [[gnu::visibility("default")]] wick {

// The eight kinds that users choose among; then two for tests and planning: `reference`, which runs kernels in the interpreter, and `null`,
// which has no memory and computes nothing.
enum class DeviceKind : uint8_t { cpu, cuda, rocm, metal, opencl, vulkan, oneapi, webgpu, reference, null };

inline constexpr std::array<std::string_view, 10> kDeviceKindNames = {"cpu",    "cuda",   "rocm",   "metal",     "opencl",
                                                                      "vulkan", "oneapi", "webgpu", "reference", "null"};

// The names of the eight.
inline constexpr std::span<const std::string_view> kUserDeviceKindNames = std::span(kDeviceKindNames).first<8>();
[[nodiscard]] constexpr bool is_for_users(DeviceKind kind) noexcept { return static_cast<size_t>(kind) < kUserDeviceKindNames.size(); }

[[nodiscard]] constexpr std::string_view to_string(DeviceKind kind) noexcept { return kDeviceKindNames[static_cast<size_t>(kind)]; }

[[nodiscard]] constexpr std::optional<DeviceKind> parse_device_kind(std::string_view name) noexcept {
  for (size_t id = 0; id < kDeviceKindNames.size(); ++id) {
    if (kDeviceKindNames[id] == name) return static_cast<DeviceKind>(id);
  }
  return std::nullopt;
}

}  // namespace wick
