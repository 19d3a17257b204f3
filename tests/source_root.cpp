#include "source_root.h"

namespace wick {

std::filesystem::path source_root() { return WICK_SOURCE_DIR; }

}  // namespace wick
