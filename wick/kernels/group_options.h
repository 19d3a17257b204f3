// How many lanes a kernel gets on a device.
#pragma once

#include <string>

#include "wick/ir/builder.h"
#include "wick/op/device_caps.h"

namespace [[gnu::visibility("default")]] wick {
namespace kernels {

// Groups of at most `wanted` lanes, a power of two, and the device's largest subgroups if it has any that are no larger than the group.
[[nodiscard]] ir::KernelOptions group_options(const DeviceCaps& caps, uint32_t wanted);

// The suffix of a kernel's name for subgroups of that size: "_s32"; empty without subgroups.
[[nodiscard]] std::string subgroup_suffix(const ir::KernelOptions& options);

}  // namespace kernels
}  // namespace wick
