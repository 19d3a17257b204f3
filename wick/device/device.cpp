#include "wick/device/device.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <tuple>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/log.h"
#include "wick/device/registry.h"

namespace wick {

std::string DeviceLocation::to_string() const {
  // Of these two a machine has one, so an ordinal would say nothing.
  if (kind == DeviceKind::cpu || kind == DeviceKind::null) return std::string(wick::to_string(kind));
  return fmt::format("{}:{}", wick::to_string(kind), index);
}

Device Device::open(DeviceLocation location, const DeviceOptions& options) {
  return Device(location, open_runtime(location.kind, location.index, options));
}

DeviceLocation Device::parse_location(std::string_view text) {
  const size_t colon = text.find(':');
  const std::optional<DeviceKind> kind = parse_device_kind(text.substr(0, colon));
  if (!kind) {
    fail(ErrorCode::invalid_argument, "device '{}': no such kind; kinds are {}", text,
         fmt::join(std::span(kDeviceKindNames).first(kDeviceKindNames.size() - 1), ", "));
  }
  int index = 0;
  if (colon != std::string_view::npos) {
    const char* begin = text.data() + colon + 1;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(begin, end, index);
    if (error != std::errc() || stop != end || index < 0) {
      fail(ErrorCode::invalid_argument, "device '{}': '{}' is not an ordinal; write {}:0", text, text.substr(colon + 1),
           wick::to_string(*kind));
    }
  }
  return {*kind, index};
}

Device Device::parse(std::string_view text, const DeviceOptions& options) { return open(parse_location(text), options); }

std::optional<DeviceLocation> best_of(std::span<const ScoredDevice> devices) {
  const auto rank = [](const ScoredDevice& device) { return std::tuple(-device.score, device.location.kind, device.location.index); };
  const auto best = std::min_element(devices.begin(), devices.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return best == devices.end() || best->score <= 0 ? std::nullopt : std::optional(best->location);
}

Device Device::best(const DeviceOptions& options) {
  std::vector<ScoredDevice> devices;
  std::vector<std::string> detected;
  for (const Backend* backend : linked_backends()) {
    for (const DeviceInfo& device : backend->probe()) {
      devices.push_back({{backend->kind, device.index}, device.score});
      detected.push_back(devices.back().location.to_string());
    }
  }
  const std::optional<DeviceLocation> selected = best_of(devices);
  if (!selected) fail(ErrorCode::no_device, "no usable device; detected: {}", fmt::join(detected, ", "));
  log_info("device requested=auto detected={} selected={}", fmt::join(detected, ","), selected->to_string());
  return open(*selected, options);
}

Device Device::if_available(DeviceLocation location) {
  try {
    return open(location);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::backend_not_linked && error.code() != ErrorCode::no_device) throw;
    log_warning("device requested={} selected=cpu: {}", location.to_string(), error.what());
    return cpu();
  }
}

const Device& Device::as_kind(DeviceKind kind) const {
  if (kind != this->kind()) {
    fail(ErrorCode::device_mismatch, "expected a {} device, got {}", wick::to_string(kind), location_.to_string());
  }
  return *this;
}

}  // namespace wick
