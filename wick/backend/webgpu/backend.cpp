// The WebGPU backend: every adapter that wgpu-native finds, with kernels in WGSL.
#include "wick/backend/webgpu/backend.h"

#include <optional>
#include <utility>

#include "wick/device/kernel_runtime.h"
#include "wick/device/variants.h"

namespace wick::webgpu {
namespace {

// Behind every other backend on the same hardware: what its portable interface does not offer, it cannot use.
constexpr int kPreference = 0;

std::vector<DeviceInfo> probe() {
  std::vector<DeviceInfo> list;
  for (const Adapter& adapter : installation().adapters) {
    list.push_back({static_cast<int>(list.size()), adapter.caps, device_score(adapter.hardware, kPreference)});
  }
  return list;
}

std::unique_ptr<Runtime> open(int index, const DeviceOptions& options) {
  std::optional<Adapter> adapter = find_device(installation().adapters, DeviceKind::webgpu, index, options.variant);
  if (!adapter) return nullptr;
  const std::string place = place_of(DeviceKind::webgpu, index, adapter->caps);
  return std::make_unique<KernelRuntime>(std::make_unique<Driver>(std::make_shared<Device>(std::move(*adapter), place)), options);
}

std::string missing(int /*index*/) { return installation().missing; }

}  // namespace

const Backend kBackend = {DeviceKind::webgpu, probe, open, plain_and_native, missing};

}  // namespace wick::webgpu
