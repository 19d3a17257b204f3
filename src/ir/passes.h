// Passes: kernels in, kernels of the same meaning out.
#pragma once

#include "ir/kernel.h"

namespace wick::ir {

struct ScheduleOptions {
  bool move_out_of_loops = true;
};

// Gives every expression one place: a `let` in the outermost block where its operands live (loop-invariant motion), computed once there
// (common subexpressions); what nothing uses is gone. Nothing that may fault leaves the block that guards it, and what is not cheap stays
// under its `when`. Leaves, lanes and vectors are written where they are used. The interpreter and the printer take scheduled kernels.
[[nodiscard]] Kernel schedule(const Kernel& kernel, ScheduleOptions options = {});

}  // namespace wick::ir
