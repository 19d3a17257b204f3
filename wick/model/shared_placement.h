// A model shared between the device that it is loaded for and the CPU, as callers name it by two numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "wick/device/device.h"
#include "wick/model/placement.h"

namespace wick {

// The last `gpu_layers` layers are `device`'s (none: all), and the experts of the first `cpu_expert_layers` the CPU's. `function` is the
// caller's, for messages. Errors: invalid_argument where something is to be shared and the device is a CPU; backend_not_linked in a program
// without the CPU.
[[nodiscard]] PlacementOptions share_with_cpu(const Device& device, std::optional<int64_t> gpu_layers, int64_t cpu_expert_layers,
                                              std::string_view function);

}  // namespace wick
