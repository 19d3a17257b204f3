#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <ostream>

#include "wick/cli/flags.h"
#include "wick/cli/text_format.h"
#include "wick/cli/wick_command.h"
#include "wick/device/device.h"
#include "wick/device/registry.h"

namespace wick {
namespace {

nlohmann::ordered_json describe(const Backend& backend, const DeviceInfo& device) {
  const DeviceCaps& caps = device.caps;
  return {{"device", DeviceLocation{backend.kind, device.index}.to_string()},
          {"backend", to_string(backend.kind)},
          {"index", device.index},
          {"name", caps.name},
          {"driver", caps.driver},
          {"memory_bytes", caps.memory_bytes},
          {"compute_units", caps.compute_units},
          {"f16", caps.f16_arithmetic},
          {"bf16", caps.bf16_arithmetic},
          {"int8_dot", caps.int8_dot},
          {"matrix_tiles", !caps.tiles.empty()},
          {"f32_subnormals", caps.f32_subnormals},
          {"score", device.score}};
}

void add_peaks(nlohmann::ordered_json& entry, const MeasuredPeaks& peaks, int threads) {
  entry["threads"] = threads;
  entry["read_bytes_per_second"] = peaks.read_bytes;
  entry["int8_operations_per_second"] = peaks.int8_operations;
  entry["bf16_operations_per_second"] = peaks.bf16_operations;
  entry["f32_operations_per_second"] = peaks.f32_operations;
}

std::string peaks_line(const MeasuredPeaks& peaks, int threads) {
  std::string line = fmt::format("  measured, threads {}: reads {:.1f} GB/s", threads, peaks.read_bytes / 1e9);
  const auto add = [&](const char* what, double operations) {
    if (operations > 0) line += fmt::format(", {} {:.0f} G operations/s", what, operations / 1e9);
  };
  add("int8", peaks.int8_operations);
  add("bf16", peaks.bf16_operations);
  add("f32", peaks.f32_operations);
  return line;
}

}  // namespace

void devices_command(Console& console, const Arguments& arguments) {
  bool json = false;
  bool measure = false;
  int threads = 0;
  Flags flags("Lists the devices that this program can use. `auto` is the one with the highest score.", console);
  flags.add_switch("--measure", "measure how fast each reads memory and computes: half a second and 1 GiB on the CPU", measure);
  add_threads(flags, threads);
  flags.add_switch("--json", "print JSON", json);
  flags.footer(examples({"wick devices", "wick devices --json", "wick devices --measure --threads 2"}));
  if (!flags.parse(arguments)) return;

  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  if (!json) console.out << fmt::format("{:<10} {:<14} {:>6} {:>11} {:>6}  {}\n", "device", "driver", "units", "memory", "score", "name");
  for (const Backend* backend : linked_backends()) {
    for (const DeviceInfo& device : backend->probe()) {
      const DeviceLocation location{backend->kind, device.index};
      list.push_back(describe(*backend, device));
      std::string measured;
      if (measure) {
        const Device opened = Device::open(location, {.threads = threads, .cache_directory = console.cache_directory});
        const MeasuredPeaks peaks = opened.runtime().measure_peaks();
        add_peaks(list.back(), peaks, opened.caps().compute_units);
        measured = peaks_line(peaks, opened.caps().compute_units) + '\n';
      }
      if (json) continue;
      console.out << fmt::format("{:<10} {:<14} {:>6} {:>11} {:>6}  {}\n", location.to_string(), device.caps.driver,
                                 device.caps.compute_units, format_bytes(device.caps.memory_bytes), device.score, device.caps.name)
                  << measured;
    }
  }
  if (json) console.out << list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

}  // namespace wick
