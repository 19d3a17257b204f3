#include "base/error.h"
#include "cli/wick_command.h"

namespace wick {

void coverage_command(Program&, const Arguments&) { fail(ErrorCode::unsupported, "coverage: not in this version"); }

}  // namespace wick
