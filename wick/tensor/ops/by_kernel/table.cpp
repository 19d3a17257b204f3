#include "wick/tensor/ops/by_kernel/by_kernel.h"

namespace wick::by_kernel {

#define WICK_LAUNCHER(name, ...) name,
const LauncherTable kLaunchers = {WICK_OPS(WICK_LAUNCHER)};
#undef WICK_LAUNCHER

}  // namespace wick::by_kernel
