// The body of the workers: one process, one model, one device of the only backend that the program holds.
#pragma once

#include "cli/program.h"

namespace wick {

[[nodiscard]] int run_worker(Program& program, const Arguments& arguments);

}  // namespace wick
