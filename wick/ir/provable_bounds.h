// Indices of shared memory that are known without running the kernel.
#pragma once

#include "wick/ir/kernel.h"

namespace wick::ir {

// Refuses an access of shared memory, outside any `when` and without a gate, whose index depends on nothing but constants, the lane, and
// loops of constant bounds, and that leaves its array in some lane in the first or the last round of those loops.
void check_provable_bounds(const Kernel& kernel);

}  // namespace wick::ir
