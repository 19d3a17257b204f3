// Which devices this machine has for a program's backends, and which of them `auto` takes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/device/device.h"
#include "wick/device/registry.h"

namespace [[gnu::visibility("default")]] wick {

// For tests of the selection: counts that stand for what the backends of these kinds find. Nothing runs on such devices.
struct FakeProbe {
  std::vector<std::pair<DeviceKind, int>> counts;

  // "cuda=2,vulkan=none": a count from 0 to 64, or none. Errors: invalid_argument.
  [[nodiscard]] static FakeProbe parse(std::string_view text);
  [[nodiscard]] std::optional<int> count(DeviceKind kind) const noexcept;
};

struct DetectedDevice {
  DeviceKind kind = DeviceKind::cpu;
  DeviceInfo info;
  bool fake = false;

  [[nodiscard]] DeviceLocation location() const noexcept { return {kind, info.index}; }
};

// The devices of all linked backends, the best first (best_of); without those for tests (is_for_users).
[[nodiscard]] std::vector<DetectedDevice> detect_devices(const FakeProbe& fake = {}, const BackendTable& table = {});
// "cuda:0,cpu", as the line about the selection lists them; "none".
[[nodiscard]] std::string describe(std::span<const DetectedDevice> devices);

// How Device::best chooses.
struct Selection {
  // The first choice must open. Otherwise a device that cannot be opened is left out, with a warning, and the next one is tried.
  bool strict = false;
  FakeProbe fake = {};
  BackendTable table = {};
};

}  // namespace wick
