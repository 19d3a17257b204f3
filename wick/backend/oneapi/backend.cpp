// The oneAPI backend: every GPU that Level Zero's drivers list, with kernels in OpenCL C.
#include <memory>
#include <optional>
#include <string>

#include "wick/backend/oneapi/driver.h"
#include "wick/device/kernel_runtime.h"
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
  const std::optional<FoundDevice> device = find_device(found.devices, DeviceKind::oneapi, index, options.variant);
  if (!device) return nullptr;
  std::string place = place_of(DeviceKind::oneapi, index, device->caps);
  return std::make_unique<KernelRuntime>(std::make_unique<ZeDriver>(found.api, found.compiler, *device, std::move(place)), options);
}

std::string missing(int /*index*/) { return installation().missing; }

}  // namespace

const Backend kBackend = {DeviceKind::oneapi, probe, open, plain_and_native, missing};

}  // namespace wick::oneapi
