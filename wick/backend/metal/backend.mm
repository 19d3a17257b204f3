// The Metal backend: every GPU of Apple's systems that shares the processor's memory, with kernels in MSL.
#include "wick/backend/metal/backend.h"

#include <optional>
#include <utility>

#include "wick/device/kernel_runtime.h"
#include "wick/device/variants.h"

namespace wick::metal {
namespace {

// Before every other backend on the same hardware: they are layers over this one.
constexpr int kPreference = 5;

std::vector<DeviceInfo> probe() {
  std::vector<DeviceInfo> list;
  for (const Gpu& gpu : find_gpus().gpus) {
    list.push_back({static_cast<int>(list.size()), gpu.caps, device_score(gpu.hardware, kPreference)});
  }
  return list;
}

std::unique_ptr<Runtime> open(int index, const DeviceOptions& options) {
  std::optional<Gpu> gpu = find_device(find_gpus().gpus, DeviceKind::metal, index, options.variant);
  if (!gpu) return nullptr;
  const std::string place = place_of(DeviceKind::metal, index, gpu->caps);
  return std::make_unique<KernelRuntime>(std::make_unique<Driver>(std::make_shared<Device>(std::move(*gpu), place)), options);
}

std::string missing(int /*index*/) { return find_gpus().missing; }

}  // namespace

std::optional<size_t> Driver::free_bytes() noexcept {
  const size_t most = [device_->handle() recommendedMaxWorkingSetSize], used = [device_->handle() currentAllocatedSize];
  return most > used ? most - used : 0;
}

const Backend kBackend = {DeviceKind::metal, probe, open, plain_and_native, missing};

}  // namespace wick::metal
