// The oneAPI backend: every GPU that Level Zero's drivers list, with kernels in OpenCL C.
#include <memory>
#include <string>

#include "wick/backend/oneapi/driver.h"
#include "wick/device/kernel_runtime.h"
#include "wick/device/plain_caps.h"
#include "wick/device/variants.h"

namespace wick::oneapi {
namespace {

std::vector<DeviceInfo> probe() {
  std::vector<DeviceInfo> list;
  for (const FoundDevice& device : installation().devices) list.push_back({static_cast<int>(list.size()), device.caps, device.score});
  return list;
}

std::unique_ptr<Runtime> open(int index, const DeviceOptions& options) {
  const Installation& found = installation();
  if (index < 0 || static_cast<size_t>(index) >= found.devices.size()) return nullptr;
  FoundDevice device = found.devices[static_cast<size_t>(index)];
  if (asks_for_plain(DeviceKind::oneapi, index, options.variant)) device.caps = plain_caps(std::move(device.caps));
  return std::make_unique<KernelRuntime>(std::make_unique<ZeDriver>(found.api, found.compiler, device, index), options);
}

std::string missing(int /*index*/) { return installation().missing; }

}  // namespace

const Backend kBackend = {DeviceKind::oneapi, probe, open, plain_and_native, missing};

}  // namespace wick::oneapi
