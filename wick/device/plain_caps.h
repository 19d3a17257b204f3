// The least that a device may be: what each backend's variant "plain" opens it with, so that every lowering runs on it too.
#pragma once

#include <utility>

#include "wick/op/device_caps.h"

namespace wick {

// The same limits, without any ability that a kernel can be written without.
[[nodiscard]] inline DeviceCaps plain_caps(DeviceCaps caps) {
  caps.min_subgroup_size = caps.max_subgroup_size = 1;
  caps.f16_arithmetic = caps.bf16_arithmetic = caps.int8_dot = false;
  caps.storage_8bit = caps.storage_16bit = false;
  caps.f32_atomic_add = false;
  caps.f32_subnormals = false;
  caps.tiles.clear();
  return caps;
}

}  // namespace wick
