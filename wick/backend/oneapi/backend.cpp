// The oneAPI backend: every GPU that Level Zero's drivers list, with kernels in OpenCL C.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <memory>
#include <string>

#include "wick/backend/oneapi/driver.h"
#include "wick/base/fail.h"
#include "wick/device/kernel_runtime.h"
#include "wick/device/plain_caps.h"

namespace wick::oneapi {
namespace {

constexpr std::array<std::string_view, 2> kVariants{"plain", "native"};

std::vector<DeviceInfo> probe() {
  std::vector<DeviceInfo> list;
  for (const FoundDevice& device : installation().devices) list.push_back({static_cast<int>(list.size()), device.caps, device.score});
  return list;
}

std::unique_ptr<Runtime> open(int index, const DeviceOptions& options) {
  const Installation& found = installation();
  if (index < 0 || static_cast<size_t>(index) >= found.devices.size()) return nullptr;
  FoundDevice device = found.devices[static_cast<size_t>(index)];
  if (options.variant == kVariants[0]) {
    device.caps = plain_caps(std::move(device.caps));
  } else if (!options.variant.empty() && options.variant != kVariants[1]) {
    fail(ErrorCode::invalid_argument, "oneapi:{}: no variant '{}'; it has {}", index, options.variant, fmt::join(kVariants, " and "));
  }
  return std::make_unique<KernelRuntime>(std::make_unique<ZeDriver>(found.api, found.compiler, device, index), options);
}

std::string missing(int /*index*/) { return installation().missing; }

std::vector<VariantInfo> variants() { return {{std::string(kVariants[0]), true}, {std::string(kVariants[1]), true}}; }

}  // namespace

const Backend kBackend = {DeviceKind::oneapi, probe, open, variants, missing};

}  // namespace wick::oneapi
