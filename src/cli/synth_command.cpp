#include "base/error.h"
#include "cli/wick_command.h"

namespace wick {

void synth_command(Program&, const Arguments&) { fail(ErrorCode::unsupported, "synth: not in this version"); }

}  // namespace wick
