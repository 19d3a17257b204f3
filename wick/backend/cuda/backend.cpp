// The CUDA backend: every device of NVIDIA's driver, with kernels in CUDA C++.
#include <fmt/ranges.h>

#include <array>
#include <memory>
#include <string>

#include "wick/backend/cuda/driver.h"
#include "wick/base/fail.h"
#include "wick/device/kernel_runtime.h"
#include "wick/device/plain_caps.h"
#include "wick/device/registry.h"

namespace wick::cuda {
namespace {

constexpr std::array<std::string_view, 2> kVariants{"plain", "native"};

// The driver, its compiler and its devices, or why there are none.
struct Installation {
  std::shared_ptr<const Api> api;
  std::shared_ptr<const Compiler> compiler;
  std::vector<FoundDevice> devices;
  std::string missing;
};

// Looked at once: the driver's devices are the same as long as the process lives.
const Installation& installation() {
  static const Installation instance = [] {
    Installation found;
    try {
      found.api = load_api(kDriverLibrary);
      found.devices = find_devices(*found.api);
      if (found.devices.empty()) found.missing = "the NVIDIA driver finds no device; look with nvidia-smi";
      if (!found.devices.empty()) found.compiler = std::make_shared<const Compiler>(Compiler::libraries_for(found.api->version));
    } catch (const Error& error) {
      found.missing = error.what();
    }
    return found;
  }();
  return instance;
}

// Why a device cannot be used; empty: it can.
std::string unsuitable(const FoundDevice& device) {
  const Compiler* const compiler = installation().compiler.get();
  return compiler == nullptr ? installation().missing : compiler->refusal(device.capability);
}

std::vector<DeviceInfo> probe() {
  std::vector<DeviceInfo> list;
  const std::vector<FoundDevice>& devices = installation().devices;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (unsuitable(devices[i]).empty()) list.push_back({static_cast<int>(i), devices[i].caps, devices[i].score});
  }
  return list;
}

std::unique_ptr<Runtime> open(int index, const DeviceOptions& options) {
  const Installation& found = installation();
  if (static_cast<size_t>(index) >= found.devices.size()) return nullptr;
  FoundDevice device = found.devices[static_cast<size_t>(index)];
  if (!unsuitable(device).empty()) return nullptr;
  if (options.variant == kVariants[0]) {
    device.caps = plain_caps(std::move(device.caps));
  } else if (!options.variant.empty() && options.variant != kVariants[1]) {
    fail(ErrorCode::invalid_argument, "cuda:{}: no variant '{}'; it has {}", index, options.variant, fmt::join(kVariants, " and "));
  }
  return std::make_unique<KernelRuntime>(std::make_unique<CudaDriver>(found.api, found.compiler, device, index), options);
}

std::string missing(int index) {
  const Installation& found = installation();
  if (!found.missing.empty()) return found.missing;
  const bool is_there = index >= 0 && static_cast<size_t>(index) < found.devices.size();
  return is_there ? unsuitable(found.devices[static_cast<size_t>(index)]) : "";
}

std::vector<VariantInfo> variants() { return {{std::string(kVariants[0]), true}, {std::string(kVariants[1]), true}}; }

}  // namespace

extern const Backend kBackend;
const Backend kBackend = {DeviceKind::cuda, probe, open, variants, missing};

}  // namespace wick::cuda
