// The verifier: refuses kernels that mean nothing, or that a device cannot run, before any driver sees them.
#pragma once

#include "wick/ir/kernel.h"
#include "wick/op/device_caps.h"

namespace wick::ir {

// Refuses a kernel with a wrong type, name, slot or constant; with a value used outside the block that computes it; with a barrier,
// subgroup operation or matrix tile that some lanes of a group may not reach; with an index that surely leaves its shared array.
void verify(const Kernel& kernel);

// The same, and every limit and ability of the device. For kernels behind lower(): what the device lacks and lower() writes in other
// words is refused here.
void verify(const Kernel& kernel, const DeviceCaps& caps);

// Refuses a launch of more groups than the device takes in one dimension.
void verify_grid(const Kernel& kernel, Grid grid, const DeviceCaps& caps);

// The invocations that compute the same value: the whole group, each subgroup, or none.
enum class Agreement : uint8_t { group, subgroup, lane };

// The agreement of every node, from what the nodes and the control flow around assignments say; `lane` where nothing proves more.
[[nodiscard]] std::vector<Agreement> agreements(const Kernel& kernel);

}  // namespace wick::ir
