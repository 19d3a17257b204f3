// Capabilities of an NVIDIA GPU.
#pragma once

#include <string>

#include "wick/backend/cuda/api.h"
#include "wick/backend/cuda/compiler.h"
#include "wick/device/streams/stream_device.h"

namespace wick::cuda {

// 90 of "sm_90a" and "compute_90".
[[nodiscard]] int architecture_of(const std::string& target);
// Instructions, driver, and what the compiler compiles for, of a device of find_stream_devices(). Errors: those of the driver.
void describe(const Api& api, const Compiler& compiler, StreamDevice& device);

}  // namespace wick::cuda
