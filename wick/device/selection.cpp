#include "wick/device/selection.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <tuple>

#include "wick/base/fail.h"
#include "wick/base/log.h"

namespace wick {
namespace {

constexpr int kMaxFakeDevices = 64;

int parse_count(std::string_view entry, std::string_view text) {
  if (text == "none") return 0;
  int count = -1;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || stop != text.data() + text.size() || count < 0 || count > kMaxFakeDevices) {
    fail(ErrorCode::invalid_argument, "fake probe '{}': '{}' is neither a count from 0 to {} nor 'none'; write cuda=2,vulkan=none", entry,
         text, kMaxFakeDevices);
  }
  return count;
}

std::vector<DeviceInfo> fakes(DeviceKind kind, int count) {
  std::vector<DeviceInfo> devices(static_cast<size_t>(count));
  for (int index = 0; index < count; ++index) {
    DeviceInfo& device = devices[static_cast<size_t>(index)];
    device.index = index;
    device.caps.name = fmt::format("fake {} device", to_string(kind));
    device.caps.driver = "fake";
    device.score = kind == DeviceKind::cpu ? kCpuBackendScore : device_score(Hardware::discrete_gpu, 0);
  }
  return devices;
}

[[noreturn]] void fail_fake(DeviceLocation location) {
  fail(ErrorCode::no_device, "{}: a fake device, which runs nothing", location.to_string());
}

// The better one is smaller.
std::tuple<int, DeviceKind, int> rank(int score, DeviceLocation location) { return {-score, location.kind, location.index}; }

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result + '"';
}

void say_selected(std::string_view requested, std::string_view detected, DeviceLocation selected) {
  log_info("device requested={} detected={} selected={}", requested, detected, selected.to_string());
}

void warn_fallback(std::string_view requested, std::string_view detected, std::string_view selected, const Error& error) {
  log_warning("device requested={} detected={} selected={} reason={}", requested, detected, selected, quoted(error.what()));
}

// Whether another device may do what this one could not: not where the caller is at fault.
bool concerns_device(const Error& error) noexcept { return error.code() != ErrorCode::invalid_argument; }

Device open_detected(const DetectedDevice& device, const DeviceOptions& options) {
  if (device.fake) fail_fake(device.location());
  return Device::open(device.location(), options);
}

}  // namespace

FakeProbe FakeProbe::parse(std::string_view text) {
  FakeProbe fake;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    const size_t equals = entry.find('=');
    const std::optional<DeviceKind> kind = parse_device_kind(entry.substr(0, equals));
    if (equals == std::string_view::npos || !kind || !is_for_users(*kind)) {
      fail(ErrorCode::invalid_argument, "fake probe '{}': write KIND=COUNT or KIND=none; kinds are {}", entry,
           fmt::join(kUserDeviceKindNames, ", "));
    }
    if (fake.count(*kind)) fail(ErrorCode::invalid_argument, "fake probe '{}': {} has a count already", entry, to_string(*kind));
    fake.counts.emplace_back(*kind, parse_count(entry, entry.substr(equals + 1)));
  }
  return fake;
}

std::optional<int> FakeProbe::count(DeviceKind kind) const noexcept {
  for (const auto& [faked, count] : counts) {
    if (faked == kind) return count;
  }
  return std::nullopt;
}

std::vector<DetectedDevice> detect_devices(const FakeProbe& fake, const BackendTable& table) {
  std::vector<DetectedDevice> devices;
  for (const auto& [kind, count] : fake.counts) {
    for (DeviceInfo& info : fakes(kind, count)) devices.push_back({kind, std::move(info), true});
  }
  for (const Backend* backend : table.linked) {
    if (!is_for_users(backend->kind) || fake.count(backend->kind)) continue;
    for (DeviceInfo& info : backend->probe()) devices.push_back({backend->kind, std::move(info), false});
  }
  std::sort(devices.begin(), devices.end(), [](const DetectedDevice& a, const DetectedDevice& b) {
    return rank(a.info.score, a.location()) < rank(b.info.score, b.location());
  });
  return devices;
}

std::string describe(std::span<const DetectedDevice> devices) {
  if (devices.empty()) return "none";
  std::vector<std::string> names;
  names.reserve(devices.size());
  for (const DetectedDevice& device : devices) names.push_back(device.location().to_string());
  return fmt::format("{}", fmt::join(names, ","));
}

std::optional<DeviceLocation> best_of(std::span<const ScoredDevice> devices) {
  const auto before = [](const ScoredDevice& a, const ScoredDevice& b) { return rank(a.score, a.location) < rank(b.score, b.location); };
  const auto best = std::min_element(devices.begin(), devices.end(), before);
  return best == devices.end() || best->score <= 0 ? std::nullopt : std::optional(best->location);
}

Device Device::best(const DeviceOptions& options, const Selection& selection) {
  std::vector<DetectedDevice> candidates = detect_devices(selection.fake, selection.table);
  const std::string detected = describe(candidates);
  std::erase_if(candidates, [](const DetectedDevice& device) { return device.info.score <= 0; });
  if (candidates.empty()) fail(ErrorCode::no_device, "no usable device; detected: {}", detected);
  say_selected("auto", detected, candidates.front().location());
  for (size_t at = 0;; ++at) {
    try {
      return open_detected(candidates[at], options);
    } catch (const Error& error) {
      if (selection.strict || at + 1 == candidates.size() || !concerns_device(error)) throw;
      warn_fallback("auto", detected, candidates[at + 1].location().to_string(), error);
    }
  }
}

Device Device::best(const DeviceOptions& options) { return best(options, {}); }

Device Device::open_requested(DeviceLocation location, const DeviceOptions& options, const FakeProbe& fake) {
  const Backend& backend = require_backend(location.kind);
  std::vector<DeviceInfo> found;
  if (const std::optional<int> count = fake.count(location.kind)) {
    found = fakes(location.kind, *count);
    if (location.index < *count) fail_fake(location);
    fail_no_device(location.kind, location.index, found, "");
  }
  Device device = open(location, options);
  std::vector<std::string> names;
  for (const DeviceInfo& info : backend.probe()) names.push_back(DeviceLocation{location.kind, info.index}.to_string());
  say_selected(location.to_string(), names.empty() ? "none" : fmt::format("{}", fmt::join(names, ",")), location);
  return device;
}

bool Device::is_available(DeviceKind kind, int index) {
  const Backend* const backend = find_backend(kind);
  if (backend == nullptr) return false;
  const std::vector<DeviceInfo> found = backend->probe();
  return std::any_of(found.begin(), found.end(), [&](const DeviceInfo& info) { return info.index == index; });
}

Device Device::if_available(DeviceLocation location) {
  try {
    return open(location);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::backend_not_linked && error.code() != ErrorCode::no_device) throw;
    warn_fallback(location.to_string(), describe(detect_devices()), "cpu", error);
    return cpu();
  }
}

}  // namespace wick
