// How many lanes a kernel gets on a device.
#pragma once

#include "ir/builder.h"
#include "ir/device_caps.h"

namespace wick::kernels {

// Groups of at most `wanted` lanes, a power of two, and the device's largest subgroups if it has any that are no larger than the group.
[[nodiscard]] ir::KernelOptions group_options(const DeviceCaps& caps, uint32_t wanted);

}  // namespace wick::kernels
