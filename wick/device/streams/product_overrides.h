// The ops that a ProductDriver carries out by its vendor's libraries of matrix products instead of portable kernels.
#pragma once

#include "wick/device/op_call.h"

namespace wick {

// nullptr: none. What no library takes, the function hands to the portable kernels.
[[nodiscard]] OpFunction product_override_of(OpId op, DType dtype) noexcept;

}  // namespace wick
