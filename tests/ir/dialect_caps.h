// Devices that each language is tried on.
#pragma once

#include "ir/kernel_cases.h"

namespace wick::ir {

[[nodiscard]] inline DeviceCaps cuda_caps() {
  DeviceCaps caps = tile_caps();
  caps.tiles.push_back(kLaneTile);
  caps.f32_atomic_add = true;
  return caps;
}
[[nodiscard]] inline DeviceCaps hip_caps(int subgroup) {
  DeviceCaps caps = subgroup_caps();
  caps.min_subgroup_size = caps.max_subgroup_size = subgroup;
  return caps;
}
// As PoCL: f16 is only stored, no subgroups, no products of bytes.
[[nodiscard]] inline DeviceCaps opencl_caps() {
  DeviceCaps caps = plain_caps();
  caps.f16_arithmetic = caps.int8_dot = false;
  caps.int64 = caps.f64_arithmetic = true;
  caps.max_storage_buffers = 32;
  return caps;
}
[[nodiscard]] inline DeviceCaps opencl_full_caps() {
  DeviceCaps caps = subgroup_caps();
  caps.int8_dot = false;
  return caps;
}
[[nodiscard]] inline DeviceCaps msl_caps() {
  DeviceCaps caps = subgroup_caps();
  caps.f64_arithmetic = false;
  caps.tiles = {{8, 8, 8}};
  return caps;
}
[[nodiscard]] inline DeviceCaps wgsl_caps(int subgroup) {
  DeviceCaps caps = bare_caps();
  caps.min_subgroup_size = caps.max_subgroup_size = subgroup;
  caps.f16_arithmetic = subgroup > 1;
  caps.int8_dot = subgroup > 1;
  return caps;
}

}  // namespace wick::ir
