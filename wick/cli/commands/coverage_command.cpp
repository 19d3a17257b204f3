
#include <ostream>
#include <string>
#include <vector>

#include "wick/base/json.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/flags.h"
#include "wick/device/registry.h"
#include "wick/tensor/ops/coverage.h"

namespace wick {
namespace {

// Those of these kinds, in that order; those for users of every linked backend if none is named.
std::vector<Device> devices_of(const std::vector<std::string>& kinds) {
  std::vector<const Backend*> backends;
  for (const Backend* backend : linked_backends()) {
    if (kinds.empty() && is_for_users(backend->kind)) backends.push_back(backend);
  }
  for (const std::string& kind : kinds) backends.push_back(&require_backend(Device::parse_location(kind).kind));
  std::vector<Device> devices;
  for (const Backend* backend : backends) {
    for (const DeviceInfo& device : backend->probe()) devices.push_back(Device::open({backend->kind, device.index}));
  }
  return devices;
}

std::string render_json(const std::vector<CoverageEntry>& entries) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const CoverageEntry& entry : entries) {
    nlohmann::ordered_json row = {{"device", to_string(entry.device)},
                                  {"op", to_string(entry.op)},
                                  {"dtype", to_string(entry.dtype)},
                                  {"support", to_string(entry.support)}};
    if (!entry.reason.empty()) row["reason"] = entry.reason;
    list.push_back(std::move(row));
  }
  return json_text(list, 2) + '\n';
}

}  // namespace

namespace {

std::vector<std::string> linked_kinds() {
  std::vector<std::string> kinds;
  for (const Backend* backend : linked_backends()) kinds.emplace_back(to_string(backend->kind));
  return kinds;
}

}  // namespace

void coverage_command(Console& console, const Arguments& arguments) {
  bool json = false;
  bool markdown = false;
  Flags flags(
      "Lists which device carries out which op on which dtype: native, kernel (a portable one), reference (the op's "
      "plain loops, for truth and not for speed), or none and why.",
      console);
  std::vector<std::string> kinds;
  flags.add_arguments("DEVICE", "cpu, vulkan and so on (all that are linked)", kinds).choices(linked_kinds());
  const Flags::Added json_flag = flags.add_switch("--json", "print JSON", json);
  flags.add_switch("--markdown", "print tables for a document", markdown).excludes(json_flag);
  flags.examples({"wick coverage", "wick coverage --markdown cpu reference > coverage.md", "wick coverage --json"});
  if (!flags.parse(arguments)) return;
  const std::vector<CoverageEntry> entries = coverage(devices_of(kinds));
  if (json) {
    console.out << render_json(entries);
  } else {
    console.out << (markdown ? render_markdown(entries) : render_text(entries));
  }
}

}  // namespace wick
