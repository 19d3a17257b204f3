#include "wick/tensor/ops/launchers/launchers.h"

namespace wick::launchers {

#define WICK_LAUNCHER(name, ...) name,
const LauncherTable kLaunchers = {WICK_OPS(WICK_LAUNCHER)};
#undef WICK_LAUNCHER

}  // namespace wick::launchers
