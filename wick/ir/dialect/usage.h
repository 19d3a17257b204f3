// Language features used by a kernel.
#pragma once

#include "wick/ir/dialect/dialect.h"

namespace wick::ir {

[[nodiscard]] Usage usage_of(const Kernel& kernel, const Dialect& dialect);
// Whether the dialect prints a statement as Dialect::copy: a late store of what a launch only reads.
[[nodiscard]] bool is_copy(const Kernel& kernel, const Dialect& dialect, const Statement& statement);

}  // namespace wick::ir
