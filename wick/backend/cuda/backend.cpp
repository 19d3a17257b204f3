// The CUDA backend: every device of NVIDIA's driver, with kernels in CUDA C++.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "wick/backend/cuda/backend.h"
#include "wick/backend/cuda/driver.h"
#include "wick/base/fail.h"
#include "wick/device/kernel_runtime.h"
#include "wick/device/plain_caps.h"

namespace wick::cuda {
namespace {

// plain is the least that a device may be; portable runs the library's own kernels alone; native takes NVIDIA's products of matrices too.
constexpr std::array<std::string_view, 3> kVariants{"plain", "portable", "native"};

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

std::unique_ptr<Runtime> open(int index, const DeviceOptions& options) { return open_on_stream(index, options, nullptr); }

std::string missing(int index) {
  const Installation& found = installation();
  if (!found.missing.empty()) return found.missing;
  const bool is_there = index >= 0 && static_cast<size_t>(index) < found.devices.size();
  return is_there ? unsuitable(found.devices[static_cast<size_t>(index)]) : "";
}

std::vector<VariantInfo> variants() {
  std::vector<VariantInfo> all;
  for (const std::string_view name : kVariants) all.push_back({std::string(name), true});
  return all;
}

}  // namespace

std::unique_ptr<Runtime> open_on_stream(int index, const DeviceOptions& options, StreamHandle stream) {
  const Installation& found = installation();
  if (index < 0 || static_cast<size_t>(index) >= found.devices.size()) return nullptr;
  FoundDevice device = found.devices[static_cast<size_t>(index)];
  if (!unsuitable(device).empty()) return nullptr;
  const std::string_view variant = options.variant.empty() ? kVariants.back() : std::string_view(options.variant);
  if (std::find(kVariants.begin(), kVariants.end(), variant) == kVariants.end()) {
    fail(ErrorCode::invalid_argument, "cuda:{}: no variant '{}'; it has {}", index, variant, fmt::join(kVariants, ", "));
  }
  if (variant == "plain") device.caps = plain_caps(std::move(device.caps));
  return std::make_unique<KernelRuntime>(
      std::make_unique<CudaDriver>(found.api, found.compiler, device, index, variant == kVariants.back(), stream), options);
}

const Backend kBackend = {DeviceKind::cuda, probe, open, variants, missing};

}  // namespace wick::cuda
