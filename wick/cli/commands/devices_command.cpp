#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/json.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/text_format.h"
#include "wick/device/selection.h"

namespace wick {
namespace {

nlohmann::ordered_json to_json(const DetectedDevice& device) {
  const DeviceCaps& caps = device.info.caps;
  return {{"device", device.location().to_string()},
          {"backend", to_string(device.kind)},
          {"index", device.info.index},
          {"name", caps.name},
          {"driver", caps.driver},
          {"memory_bytes", caps.memory_bytes},
          {"compute_units", caps.compute_units},
          {"f16", caps.f16_arithmetic},
          {"bf16", caps.bf16_arithmetic},
          {"int8_dot", caps.int8_dot},
          {"matrix_tiles", !caps.tiles.empty()},
          {"f32_subnormals", caps.f32_subnormals},
          {"score", device.info.score}};
}

// Only the CPU backend measures them.
bool was_measured(const MeasuredPeaks& peaks) { return peaks.read_bytes > 0; }

void add_peaks(nlohmann::ordered_json& entry, const MeasuredPeaks& peaks, int threads) {
  if (!was_measured(peaks)) return;
  entry["threads"] = threads;
  entry["read_bytes_per_second"] = peaks.read_bytes;
  entry["int8_operations_per_second"] = peaks.int8_operations;
  entry["bf16_operations_per_second"] = peaks.bf16_operations;
  entry["f32_operations_per_second"] = peaks.f32_operations;
}

std::string peaks_line(const MeasuredPeaks& peaks, int threads) {
  if (!was_measured(peaks)) return "  not measured: this backend has no measurement";
  std::string line = fmt::format("  measured, threads {}: reads {:.1f} GB/s", threads, peaks.read_bytes / 1e9);
  const auto add = [&](const char* what, double operations) {
    if (operations > 0) line += fmt::format(", {} {:.0f} G operations/s", what, operations / 1e9);
  };
  add("int8", peaks.int8_operations);
  add("bf16", peaks.bf16_operations);
  add("f32", peaks.f32_operations);
  return line;
}

// The lines below a device of what its backend has learnt of it; with JSON, a field of its entry.
std::string describe_learnt(nlohmann::ordered_json& entry, const Device& device) {
  const Backend* backend = find_backend(device.location().kind);
  if (backend == nullptr || backend->learnt == nullptr) return {};
  std::string lines;
  for (const LearntNumber& number : backend->learnt(device.runtime())) {
    entry["learnt"][number.name] = number.value;
    lines += fmt::format("  learnt: {}: {}\n", number.name, number.value);
  }
  return lines;
}

void add_usage(nlohmann::ordered_json& entry, const DeviceUsage& usage) {
  entry["memory_used_bytes"] = usage.memory_used;
  if (usage.busy) entry["busy"] = *usage.busy;
  if (usage.watts) entry["watts"] = *usage.watts;
  if (usage.celsius) entry["celsius"] = *usage.celsius;
}

std::string usage_line(const DeviceUsage& usage) {
  std::string line = fmt::format("  in use: {} of {}", format_bytes(usage.memory_used), format_bytes(usage.memory_total));
  if (usage.busy) line += fmt::format(", busy {:.0f} %", 100 * *usage.busy);
  if (usage.watts) line += fmt::format(", {:.0f} W", *usage.watts);
  if (usage.celsius) line += fmt::format(", {} °C", *usage.celsius);
  return line;
}

// The line below a device; with JSON, fields of its entry.
std::string describe_usage(nlohmann::ordered_json& entry, const DetectedDevice& device) {
  try {
    const std::optional<DeviceUsage> usage = device.fake ? std::nullopt : device_usage(device.kind, device.info.index);
    if (!usage) return "  in use: not known: its driver does not tell\n";
    add_usage(entry, *usage);
    return usage_line(*usage) + '\n';
  } catch (const Error& error) {
    return fmt::format("  in use: not known: {}\n", error.what());
  }
}

constexpr std::string_view kTableRow = "{:<10} {:<{}} {:>6} {:>11} {:>6}  {}\n";

std::string table_line(const DetectedDevice& device, size_t driver_width) {
  const DeviceCaps& caps = device.info.caps;
  return fmt::format(kTableRow, device.location().to_string(), caps.driver, driver_width, caps.compute_units,
                     caps.memory_bytes > 0 ? format_bytes(caps.memory_bytes) : "unknown", device.info.score, caps.name);
}

// The linked backends that find nothing here, and why.
void note_missing(const Console& console, const std::vector<DetectedDevice>& devices) {
  for (const Backend* backend : linked_backends()) {
    const auto is_its = [&](const DetectedDevice& device) { return device.kind == backend->kind; };
    if (!is_for_users(backend->kind) || std::any_of(devices.begin(), devices.end(), is_its)) continue;
    const std::string reason = backend->missing != nullptr ? backend->missing(0) : "";
    console.note(fmt::format("{}: no device was found: {}", to_string(backend->kind), reason.empty() ? "no driver lists one" : reason));
  }
}

}  // namespace

void devices_command(Console& console, const Arguments& arguments) {
  bool json = false;
  bool measure = false;
  bool usage = false;
  int threads = 0;
  Flags flags("Lists the devices that this program can use. `auto` is the one with the highest score.", console);
  flags.add_switch("--measure", "measure each device's memory bandwidth and arithmetic rate (uses 1 GiB on the CPU)", measure);
  flags.add_switch("--usage", "show each device's memory in use, utilization and power, where the driver reports them", usage);
  add_threads(flags, threads);
  add_json(flags, json);
  flags.examples({"wick devices", "wick devices --json", "wick devices --usage", "wick devices --measure --threads 2"});
  if (!flags.parse(arguments)) return;

  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  const std::vector<DetectedDevice> devices = detect_devices(FakeProbe::parse(console.fake_probe));
  size_t driver_width = 14;
  for (const DetectedDevice& device : devices) driver_width = std::max(driver_width, device.info.caps.driver.size());
  if (!json) console.out << fmt::format(kTableRow, "device", "driver", driver_width, "units", "memory", "score", "name");
  for (const DetectedDevice& device : devices) {
    list.push_back(to_json(device));
    std::string measured;
    if (measure && !device.fake) {
      const Device opened = Device::open(device.location(), {.threads = threads, .cache_directory = console.cache_directory});
      const MeasuredPeaks peaks = opened.runtime().measure_peaks();
      add_peaks(list.back(), peaks, opened.caps().compute_units);
      measured = peaks_line(peaks, opened.caps().compute_units) + '\n' + describe_learnt(list.back(), opened);
    }
    if (usage) measured += describe_usage(list.back(), device);
    if (!json) console.out << table_line(device, driver_width) << measured;
  }
  note_missing(console, devices);
  if (json) console.out << json_text(list, 2) << '\n';
}

}  // namespace wick
