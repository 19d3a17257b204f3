#include "wick/backend/rocm/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "wick/backend/rocm/architectures.h"

namespace wick::rocm {
namespace {

// A driver's own name of an architecture: "gfx90a:sramecc+:xnack-". No attribute tells it.
std::string target_of(const Api& api, int device) {
  // More than any version of the structure has; what is behind it stays zero.
  alignas(8) std::array<char, 4096> properties{};
  check_status(api, api.device_properties.address(properties.data(), device), api.device_properties.name, fmt::format("device {}", device));
  const char* const name = properties.data() + api.architecture_at;
  constexpr size_t kLongest = 256;
  return {name, strnlen(name, kLongest)};
}

std::string_view text_of(MatrixUnits units) {
  switch (units) {
    case MatrixUnits::none: return "";
    case MatrixUnits::mfma: return " MFMA";
    case MatrixUnits::wmma:
    case MatrixUnits::wmma12: return " WMMA";
  }
  return "";
}

void describe_instructions(const Architecture& architecture, DeviceCaps& caps) {
  caps.min_subgroup_size = caps.max_subgroup_size = architecture.wave;
  caps.int64 = caps.f64_arithmetic = true;
  caps.storage_8bit = caps.storage_16bit = true;
  caps.f32_atomic_add = true;
  caps.f16_arithmetic = true;
  caps.int8_dot = architecture.dot != ByteDot::none;
  caps.bf16_arithmetic = architecture.bf16;
  if (architecture.matrices != MatrixUnits::none) caps.tiles = {{16, 16, 16}};
}

}  // namespace

void describe(const Api& api, const Compiler& compiler, StreamDevice& device) {
  const std::string target = target_of(api, device.id);
  device.target = processor_of(target);
  device.caps.driver = fmt::format("HIP {} {}", version_text(api.version), target);
  device.refusal = compiler.refusal(device.target);
  if (!device.refusal.empty()) return;
  const Architecture& architecture = *find_architecture(device.target);
  describe_instructions(architecture, device.caps);
  device.caps.driver += text_of(architecture.matrices);
  // A grid has fewer than 2³² lanes.
  const uint64_t most = (uint64_t{1} << 32U) / device.caps.max_group_size - 1;
  for (uint32_t& count : device.caps.max_group_count) count = static_cast<uint32_t>(std::min<uint64_t>(count, most));
  constexpr int kWarpSize = 87;
  const int wave = device_number(api, device.id, kWarpSize);
  if (wave != architecture.wave) {
    device.refusal = fmt::format("{} has waves of {} lanes, and HIP says {}", device.target, architecture.wave, wave);
  }
}

}  // namespace wick::rocm
