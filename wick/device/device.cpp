#include "wick/device/device.h"

#include <fmt/ranges.h>

#include <charconv>

#include "wick/base/fail.h"
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
    fail(ErrorCode::invalid_argument, "device '{}': no such kind; kinds are {}", text, fmt::join(kUserDeviceKindNames, ", "));
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

const Device& Device::as_kind(DeviceKind kind) const {
  if (kind != this->kind()) {
    fail(ErrorCode::device_mismatch, "expected {} {} device, got {}", kind == DeviceKind::opencl ? "an" : "a", wick::to_string(kind),
         location_.to_string());
  }
  return *this;
}

}  // namespace wick
