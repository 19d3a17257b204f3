// The variants of most GPU backends: native, a device with all that it can do, and plain, as plain_caps() has it.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/device/plain_caps.h"
#include "wick/device/registry.h"

namespace wick {

// For Backend::variants: plain, then native, which is the usual one.
[[nodiscard]] std::vector<VariantInfo> plain_and_native();

// Whether a device is to be opened as plain; empty: native. Errors: invalid_argument for another name.
[[nodiscard]] bool asks_for_plain(DeviceKind kind, int index, std::string_view variant);

// A backend's description of a device, whose `caps` are plain_caps() where the variant asks for it; none where there is no such device.
// Errors: asks_for_plain's.
template <class Found>
[[nodiscard]] std::optional<Found> find_device(const std::vector<Found>& all, DeviceKind kind, int index, std::string_view variant) {
  if (index < 0 || static_cast<size_t>(index) >= all.size()) return std::nullopt;
  Found found = all[static_cast<size_t>(index)];
  if (asks_for_plain(kind, index, variant)) found.caps = plain_caps(std::move(found.caps));
  return found;
}

// A device's name in errors: "metal:0 (Apple M2)".
[[nodiscard]] inline std::string place_of(DeviceKind kind, int index, const DeviceCaps& caps) {
  return fmt::format("{}:{} ({})", to_string(kind), index, caps.name);
}

}  // namespace wick
