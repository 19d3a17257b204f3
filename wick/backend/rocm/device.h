// Capabilities of an AMD GPU.
#pragma once

#include "wick/backend/rocm/api.h"
#include "wick/backend/rocm/compiler.h"
#include "wick/device/streams/stream_device.h"

namespace wick::rocm {

// Instructions, driver, and what the compiler compiles for, of a device of find_stream_devices(). Errors: those of HIP.
void describe(const Api& api, const Compiler& compiler, StreamDevice& device);

}  // namespace wick::rocm
