// The OpenCL backend: every device of every driver that the machine's loader finds.

#include <memory>
#include <string>

#include "wick/backend/opencl/driver.h"
#include "wick/base/error.h"
#include "wick/device/kernel_runtime.h"
#include "wick/device/plain_caps.h"
#include "wick/device/registry.h"
#include "wick/device/variants.h"

namespace wick::opencl {
namespace {

constexpr const char* kLoader = "libOpenCL.so.1";
// The loader's functions, or why there are none.
struct Loader {
  std::shared_ptr<const Api> api;
  std::string reason;
};

// Opened once: drivers read their settings when the loader starts.
const Loader& loader() {
  static const Loader instance = [] {
    Loader opened;
    try {
      opened.api = std::make_shared<const Api>(load_api(kLoader));
    } catch (const Error& error) {
      opened.reason = error.what();
    }
    return opened;
  }();
  return instance;
}

std::vector<FoundDevice> devices() { return loader().api != nullptr ? find_devices(*loader().api) : std::vector<FoundDevice>(); }

std::vector<DeviceInfo> probe() {
  std::vector<DeviceInfo> list;
  for (const FoundDevice& device : devices()) list.push_back({static_cast<int>(list.size()), device.caps, device.score});
  return list;
}

std::unique_ptr<Runtime> open(int index, const DeviceOptions& options) {
  std::vector<FoundDevice> found = devices();
  if (static_cast<size_t>(index) >= found.size()) return nullptr;
  FoundDevice& device = found[static_cast<size_t>(index)];
  if (asks_for_plain(DeviceKind::opencl, index, options.variant)) device.caps = plain_caps(std::move(device.caps));
  return std::make_unique<KernelRuntime>(std::make_unique<OpenClDriver>(loader().api, std::move(device), index), options);
}

std::string missing(int /*index*/) {
  if (!loader().reason.empty()) return loader().reason;
  return devices().empty() ? "the OpenCL loader lists no driver with a device; install one, and look with clinfo" : "";
}

}  // namespace

extern const Backend kBackend;
const Backend kBackend = {DeviceKind::opencl, probe, open, plain_and_native, missing};

}  // namespace wick::opencl
