// The CUDA backend: every device of NVIDIA's driver, with kernels in CUDA C++.
#include "wick/backend/cuda/backend.h"

#include <array>
#include <memory>
#include <span>
#include <string>

#include "wick/backend/cuda/device.h"
#include "wick/backend/cuda/driver.h"
#include "wick/backend/cuda/nvml.h"
#include "wick/device/kernel_runtime.h"
#include "wick/device/streams/stream_installation.h"

namespace wick::cuda {
namespace {

// plain is the least that a device may be; portable runs the library's own kernels alone; native takes NVIDIA's products of matrices too.
// tf32 does so in fewer digits than f32 has: a device is opened with it by request alone, and it is no variant whose results are tested
// as those of f32.
constexpr std::array<std::string_view, 4> kVariants{"tf32", "plain", "portable", "native"};
constexpr std::string_view kTf32 = kVariants.front(), kNative = kVariants.back();

constexpr StreamVendor<Api, Compiler> kVendor{
    .load_driver = [] { return load_api(kDriverLibrary); },
    .load_compiler = [](const Api& api) { return std::make_shared<const Compiler>(Compiler::libraries_for(api.version), api.version); },
    .describe = describe,
    .no_device = "the NVIDIA driver finds no device; look with nvidia-smi"};

// Looked at once: the driver's devices are the same as long as the process lives.
const StreamInstallation& installation() {
  static const StreamInstallation instance = find_installation(kVendor);
  return instance;
}

std::vector<DeviceInfo> probe() { return installation().probe(); }
std::unique_ptr<Runtime> open(int index, const DeviceOptions& options) { return open_on_stream(index, options, nullptr); }
std::string missing(int index) { return installation().missing_at(index); }
DeviceUsage usage(int index) {
  static const Nvml library;
  return library.usage(bus_id_of(*installation().api, installation().devices.at(static_cast<size_t>(index)).id));
}
std::vector<VariantInfo> variants() { return usable_variants(std::span(kVariants).subspan(1)); }

}  // namespace

std::unique_ptr<Runtime> open_on_stream(int index, const DeviceOptions& options, StreamHandle stream) {
  const StreamInstallation& found = installation();
  if (found.find(index) == nullptr) return nullptr;
  const std::string_view variant = options.variant.empty() ? kNative : std::string_view(options.variant);
  const StreamDevice device = found.with_variant(index, variant, kVariants);
  const VendorProducts products = variant == kTf32     ? VendorProducts::tf32
                                  : variant == kNative ? VendorProducts::exact
                                                       : VendorProducts::none;
  return std::make_unique<KernelRuntime>(
      std::make_unique<CudaDriver>(std::static_pointer_cast<const Api>(found.api), found.compiler, device, index, products, stream),
      options);
}

const Backend kBackend = {DeviceKind::cuda, probe, open, variants, missing, usage};

}  // namespace wick::cuda
