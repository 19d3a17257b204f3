// The ops as portable kernels carry them out, one function each: it chooses the kernels for the call's shapes and launches them. What a
// dtype needs of the device (missing_ability in tensor/ops/dispatch.h) is there. One file a family; none knows what device it is for.
#pragma once

#include "wick/device/linked_kernels.h"

namespace wick::launchers {

#define WICK_LAUNCHER(name, ...) void name(const OpCall& call);
WICK_OPS(WICK_LAUNCHER)
#undef WICK_LAUNCHER

// The most rows of activations for which linear takes a norm, biases and a residual: beyond, they are launches of their own in any case.
inline constexpr int64_t kFusedLinearRows = 8;

// The table of them, which programs hold that link a backend with kernels.
extern const LauncherTable kLaunchers;

}  // namespace wick::launchers
