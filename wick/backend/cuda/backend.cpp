// The CUDA backend: every device of NVIDIA's driver, with kernels in CUDA C++.
#include "wick/backend/cuda/backend.h"

#include <array>
#include <memory>
#include <string>

#include "wick/backend/cuda/device.h"
#include "wick/backend/cuda/driver.h"
#include "wick/device/kernel_runtime.h"
#include "wick/device/stream_installation.h"

namespace wick::cuda {
namespace {

// plain is the least that a device may be; portable runs the library's own kernels alone; native takes NVIDIA's products of matrices too.
constexpr std::array<std::string_view, 3> kVariants{"plain", "portable", "native"};

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
std::vector<VariantInfo> variants() { return usable_variants(kVariants); }

}  // namespace

std::unique_ptr<Runtime> open_on_stream(int index, const DeviceOptions& options, StreamHandle stream) {
  const StreamInstallation& found = installation();
  if (found.find(index) == nullptr) return nullptr;
  const std::string_view variant = options.variant.empty() ? kVariants.back() : std::string_view(options.variant);
  const StreamDevice device = found.with_variant(index, variant, kVariants);
  return std::make_unique<KernelRuntime>(std::make_unique<CudaDriver>(std::static_pointer_cast<const Api>(found.api), found.compiler,
                                                                      device, index, variant == kVariants.back(), stream),
                                         options);
}

const Backend kBackend = {DeviceKind::cuda, probe, open, variants, missing};

}  // namespace wick::cuda
