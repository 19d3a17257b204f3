// Passes: kernels in, kernels of the same meaning out.
#pragma once

#include "wick/ir/kernel.h"
#include "wick/op/device_caps.h"

namespace wick::ir {

struct ScheduleOptions {
  bool move_out_of_loops = true;
};

// Gives every expression one place: a `let` in the outermost block where its operands live (loop-invariant motion), computed once there
// (common subexpressions); what nothing uses is gone. Nothing that may fault leaves the block that guards it, and what is not cheap stays
// under its `when`. Leaves, lanes and vectors are written where they are used. The interpreter and the printer take scheduled kernels.
[[nodiscard]] Kernel schedule(const Kernel& kernel, ScheduleOptions options = {});

// Computes what is known: expressions of constants, identities such as x + 0 of integers and x * 1, selects and gates of constants, loops
// that run no round. Functions that languages round differently (exp2, log2, sine) are left to the device.
[[nodiscard]] Kernel fold_constants(const Kernel& kernel);

// Writes a kernel in nodes that the device has: bf16, f16 arithmetic and 8- and 16-bit elements in words, products of bytes, subgroup
// operations through shared memory, matrix tiles element by element. f64 and i64 have no lowering: verify() refuses them.
[[nodiscard]] Kernel lower(const Kernel& kernel, const DeviceCaps& caps);

// verify, lower, fold_constants, verify, schedule: a kernel as a dialect prints it for this device.
[[nodiscard]] Kernel prepare(const Kernel& kernel, const DeviceCaps& caps);

}  // namespace wick::ir
