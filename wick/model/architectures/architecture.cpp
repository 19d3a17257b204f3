#include "wick/model/architectures/architecture.h"

#include <algorithm>

#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

#define WICK_ARCHITECTURE_ADDRESS(name) &(name),
constexpr const Architecture* kArchitectures[] = {WICK_ARCHITECTURES(WICK_ARCHITECTURE_ADDRESS)};
#undef WICK_ARCHITECTURE_ADDRESS

}  // namespace

std::span<const Architecture* const> architectures() { return kArchitectures; }

const Architecture* find_architecture(std::string_view name) {
  for (const Architecture* architecture : kArchitectures) {
    if (architecture->name == name) return architecture;
  }
  return nullptr;
}

const Architecture* find_architecture_of_class(std::string_view name) {
  for (const Architecture* architecture : kArchitectures) {
    const auto classes = architecture->hugging_face.classes;
    if (std::find(classes.begin(), classes.end(), name) != classes.end()) return architecture;
  }
  return nullptr;
}

}  // namespace wick
