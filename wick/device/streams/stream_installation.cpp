#include "wick/device/streams/stream_installation.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "wick/base/fail.h"
#include "wick/device/plain_caps.h"

namespace wick {

std::vector<DeviceInfo> StreamInstallation::probe() const {
  std::vector<DeviceInfo> list;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (find(static_cast<int>(i)) != nullptr) list.push_back({static_cast<int>(i), devices[i].caps, devices[i].score});
  }
  return list;
}

std::string StreamInstallation::missing_at(int index) const {
  if (!missing.empty()) return missing;
  const bool is_there = index >= 0 && static_cast<size_t>(index) < devices.size();
  return is_there ? devices[static_cast<size_t>(index)].refusal : "";
}

const StreamDevice* StreamInstallation::find(int index) const {
  const bool is_there = missing.empty() && index >= 0 && static_cast<size_t>(index) < devices.size();
  return is_there && devices[static_cast<size_t>(index)].refusal.empty() ? &devices[static_cast<size_t>(index)] : nullptr;
}

StreamDevice StreamInstallation::with_variant(int index, std::string_view variant, std::span<const std::string_view> all) const {
  if (std::find(all.begin(), all.end(), variant) == all.end()) {
    fail(ErrorCode::invalid_argument, "{}:{}: no variant '{}'; it has {}", to_string(api->kind), index, variant, fmt::join(all, ", "));
  }
  StreamDevice device = devices.at(static_cast<size_t>(index));
  if (variant == "plain") device.caps = plain_caps(std::move(device.caps));
  return device;
}

std::vector<VariantInfo> usable_variants(std::span<const std::string_view> names) {
  std::vector<VariantInfo> all;
  for (const std::string_view name : names) all.push_back({std::string(name), true});
  return all;
}

}  // namespace wick
