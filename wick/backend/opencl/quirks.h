// Known false claims of OpenCL drivers about themselves.
#pragma once

#include "wick/backend/opencl/device.h"

namespace wick::opencl {

// Corrects what a device's driver (caps.driver) is known to tell wrong.
void apply_quirks(FoundDevice& device);

}  // namespace wick::opencl
