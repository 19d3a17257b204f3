// The ops that the device carries out by NVIDIA's library of matrix products instead of portable kernels.
#pragma once

#include "wick/device/op_call.h"

namespace wick::cuda {

// nullptr: none. What the library does not take, the function hands to the portable kernels.
[[nodiscard]] OpFunction override_of(OpId op, DType dtype) noexcept;

}  // namespace wick::cuda
