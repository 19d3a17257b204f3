// A StreamInstallation is what a machine has of a vendor's: driver, compiler and devices, or why there are none.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/device/registry.h"
#include "wick/device/streams/run_time_compiler.h"
#include "wick/device/streams/stream_device.h"

namespace wick {

// Types and names that differ between vendors.
template <class Api, class Compiler>
struct StreamVendor {
  std::shared_ptr<const Api> (*load_driver)();
  std::shared_ptr<const Compiler> (*load_compiler)(const Api& api);
  // Instructions, driver, target and refusal of a device.
  void (*describe)(const Api& api, const Compiler& compiler, StreamDevice& device);
  std::string_view no_device;  // "the … driver finds no device; look with …"
};

struct StreamInstallation {
  std::shared_ptr<const StreamApi> api;
  std::shared_ptr<const RunTimeCompiler> compiler;
  std::vector<StreamDevice> devices;
  std::string missing;  // why none of them can be used

  // For Backend's functions of these names.
  [[nodiscard]] std::vector<DeviceInfo> probe() const;
  [[nodiscard]] std::string missing_at(int index) const;
  // nullptr where probe() lists no such device.
  [[nodiscard]] const StreamDevice* find(int index) const;
  // That device, and as plain_caps() where the variant is "plain"; `all` are the variants that there are, the last the usual one. Errors:
  // invalid_argument for another.
  [[nodiscard]] StreamDevice with_variant(int index, std::string_view variant, std::span<const std::string_view> all) const;
};

// The vendor's warnings about devices, except those already refused. Errors: the driver's.
template <class Api, class Compiler>
void describe_devices(std::vector<StreamDevice>& devices, const Api& api, const Compiler& compiler,
                      void (*describe)(const Api&, const Compiler&, StreamDevice&)) {
  for (StreamDevice& device : devices) {
    if (device.refusal.empty()) describe(api, compiler, device);
  }
}

template <class Api, class Compiler>
[[nodiscard]] StreamInstallation find_installation(const StreamVendor<Api, Compiler>& vendor) {
  StreamInstallation found;
  try {
    const std::shared_ptr<const Api> api = vendor.load_driver();
    found.api = api;
    found.devices = find_stream_devices(*api);
    if (found.devices.empty()) {
      found.missing = vendor.no_device;
      return found;
    }
    const std::shared_ptr<const Compiler> compiler = vendor.load_compiler(*api);
    found.compiler = compiler;
    describe_devices(found.devices, *api, *compiler, vendor.describe);
  } catch (const Error& error) {
    found.missing = error.what();
  }
  return found;
}

// "plain", "native": every one usable.
[[nodiscard]] std::vector<VariantInfo> usable_variants(std::span<const std::string_view> names);

}  // namespace wick
