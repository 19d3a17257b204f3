#include "source_root.h"

#include <cstdlib>

namespace wick {

// The variable is for programs that have moved to another machine.
std::filesystem::path source_root() {
  const char* const moved = std::getenv("WICK_SOURCE_DIR");
  return moved == nullptr ? WICK_SOURCE_DIR : moved;
}

}  // namespace wick
