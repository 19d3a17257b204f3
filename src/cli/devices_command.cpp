#include <nlohmann/json.hpp>

#include <ostream>

#include "cli/flags.h"
#include "cli/text_format.h"
#include "cli/wick_command.h"
#include "device/device.h"
#include "device/registry.h"

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
          {"score", device.score}};
}

}  // namespace

void devices_command(Program& program, const Arguments& arguments) {
  bool json = false;
  CLI::App app("Lists the devices that this program can use. `auto` is the one with the highest score.", program.name);
  app.add_flag("--json", json, "print JSON");
  add_version(app, program);
  app.footer(examples({"wick devices", "wick devices --json"}));
  if (!parse_flags(app, arguments, program)) return;

  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  if (!json) program.out << fmt::format("{:<10} {:<14} {:>6} {:>11} {:>6}  {}\n", "device", "driver", "units", "memory", "score", "name");
  for (const Backend* backend : linked_backends()) {
    for (const DeviceInfo& device : backend->probe()) {
      list.push_back(describe(*backend, device));
      if (json) continue;
      program.out << fmt::format("{:<10} {:<14} {:>6} {:>11} {:>6}  {}\n", DeviceLocation{backend->kind, device.index}.to_string(),
                                 device.caps.driver, device.caps.compute_units, format_bytes(device.caps.memory_bytes), device.score,
                                 device.caps.name);
    }
  }
  if (json) program.out << list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

}  // namespace wick
