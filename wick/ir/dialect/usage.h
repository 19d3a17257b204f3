// Language features used by a kernel.
#pragma once

#include "wick/ir/dialect/dialect.h"

namespace wick::ir {

[[nodiscard]] Usage usage_of(const Kernel& kernel, const Dialect& dialect);

}  // namespace wick::ir
