// The body of the workers: one process, one model, one device of the only backend that the program holds.
#pragma once

#include "wick/cli/console.h"

namespace wick {

[[nodiscard]] int run_worker(Console& console, const Arguments& arguments);

}  // namespace wick
