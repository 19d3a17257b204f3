// An Adapter is a device that wgpu-native found, as its driver describes it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "wick/backend/webgpu/api.h"
#include "wick/device/device_score.h"
#include "wick/op/device_caps.h"

namespace wick::webgpu {

struct Adapter {
  std::shared_ptr<const Api> api;
  std::shared_ptr<WGPUAdapterImpl> handle;
  Limits limits;                      // all that a device can be asked for
  std::vector<FeatureName> features;  // those of it that this backend uses
  DeviceCaps caps;
  Hardware hardware = Hardware::other;
};

// The adapters of this machine, or the reason why there are none.
struct Installation {
  std::vector<Adapter> adapters;
  std::string missing;
};

// Looked for once.
[[nodiscard]] const Installation& installation();

// How many lanes of every kernel run together on an adapter of that name, though WebGPU does not tell (quirks.cpp); 0: not known.
[[nodiscard]] uint32_t known_subgroup_size(std::string_view adapter) noexcept;

}  // namespace wick::webgpu
