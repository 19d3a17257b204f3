// What each combination of backends must do: list its devices, run an op on each backend that has one, and refuse those it does not hold.
//
//   wick_combination_cpu_vulkan cpu vulkan    checks that exactly these are linked, and prints what ran
//   wick_combination_cpu_vulkan               starts and ends
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/error.h"
#include "wick/device/registry.h"
#include "wick/tensor/tensor.h"

namespace {

using wick::Backend;
using wick::Device;
using wick::DeviceKind;

int faults = 0;

void expect(bool condition, const std::string& fact) {
  if (condition) return;
  ++faults;
  fmt::print("FAULT: {}\n", fact);
}

bool holds(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void run_an_op(const Backend& backend) {
  const std::string_view name = to_string(backend.kind);
  const std::vector<wick::DeviceInfo> devices = backend.probe();
  if (devices.empty()) {
    fmt::print("{}: linked, no device here\n", name);
    return;
  }
  for (const wick::DeviceInfo& device : devices) fmt::print("{}:{}: {}\n", name, device.index, device.caps.name);
  const Device device = Device::open({backend.kind, devices.front().index});
  const wick::Tensor x = wick::Tensor::of<float>({1.5F, -2, 3}, device);
  const std::vector<float> sums = (x + x).to_vec1<float>();
  expect(sums == std::vector<float>{3, -4, 6}, fmt::format("{}: x + x is wrong", name));
  fmt::print("{}: ran an op\n", name);
}

void refuse(DeviceKind kind) {
  const std::string_view name = to_string(kind);
  try {
    static_cast<void>(Device::open({kind, 0}));
    expect(false, fmt::format("{} is not linked, and was opened", name));
  } catch (const wick::Error& error) {
    expect(error.code() == wick::ErrorCode::backend_not_linked, fmt::format("{}: code {}", name, wick::to_string(error.code())));
    expect(std::string_view(error.what()).find(name) != std::string_view::npos, fmt::format("'{}' does not name {}", error.what(), name));
  }
}

}  // namespace

int main(int argument_count, char** arguments) try {
  if (argument_count == 1) return 0;
  std::vector<std::string_view> expected(arguments + 1, arguments + argument_count);
  std::erase(expected, "none");
  for (const Backend* backend : wick::linked_backends()) {
    expect(holds(expected, to_string(backend->kind)), fmt::format("{} is linked, and was not named", to_string(backend->kind)));
    run_an_op(*backend);
  }
  expect(wick::linked_backends().size() == expected.size(), fmt::format("{} backends are linked", wick::linked_backends().size()));
  for (size_t id = 0; id < wick::kDeviceKindNames.size(); ++id) {
    if (!holds(expected, wick::kDeviceKindNames[id])) refuse(static_cast<DeviceKind>(id));
  }
  fmt::print("{}\n", faults == 0 ? "passed" : "failed");
  return faults == 0 ? 0 : 1;
} catch (const std::exception& error) {
  fmt::print("FAULT: {}\n", error.what());
  return 1;
}
