// The ROCm backend: every device of HIP, with kernels in HIP C++.
#include "wick/backend/rocm/backend.h"

#include <array>
#include <memory>
#include <string>

#include "wick/backend/rocm/device.h"
#include "wick/backend/rocm/driver.h"
#include "wick/backend/rocm/usage.h"
#include "wick/device/kernel_runtime.h"
#include "wick/device/streams/stream_installation.h"

namespace wick::rocm {
namespace {

// plain is the least that a device may be; portable runs the library's own kernels alone; native takes AMD's products of matrices too.
constexpr std::array<std::string_view, 3> kVariants{"plain", "portable", "native"};
constexpr std::string_view kNative = kVariants.back();

constexpr StreamVendor<Api, Compiler> kVendor{
    .load_driver = [] { return load_api(hip_libraries()); },
    .load_compiler =
        [](const Api& api) { return std::make_shared<const Compiler>(Compiler::open_library(api.library, api.version), api.version); },
    .describe = describe,
    .no_device = "HIP finds no device; look with rocminfo, and whether the user may open /dev/kfd"};

// Looked at once: the devices are the same as long as the process lives.
const StreamInstallation& installation() {
  static const StreamInstallation instance = find_installation(kVendor);
  return instance;
}

std::vector<DeviceInfo> probe() { return installation().probe(); }
std::unique_ptr<Runtime> open(int index, const DeviceOptions& options) { return open_on_stream(index, options, nullptr); }
std::string missing(int index) { return installation().missing_at(index); }
DeviceUsage usage(int index) { return usage_of(bus_id_of(*installation().api, installation().devices.at(static_cast<size_t>(index)).id)); }
std::vector<VariantInfo> variants() { return usable_variants(kVariants); }

}  // namespace

std::unique_ptr<Runtime> open_on_stream(int index, const DeviceOptions& options, StreamHandle stream) {
  const StreamInstallation& found = installation();
  if (found.find(index) == nullptr) return nullptr;
  const std::string_view variant = options.variant.empty() ? kNative : std::string_view(options.variant);
  const StreamDevice device = found.with_variant(index, variant, kVariants);
  return std::make_unique<KernelRuntime>(
      std::make_unique<RocmDriver>(std::static_pointer_cast<const Api>(found.api), found.compiler, device, index,
                                   variant == kNative ? VendorProducts::exact : VendorProducts::none, stream),
      options);
}

const Backend kBackend = {DeviceKind::rocm, probe, open, variants, missing, usage};

}  // namespace wick::rocm
