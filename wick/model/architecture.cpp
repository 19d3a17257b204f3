#include "wick/model/architecture.h"

#include <algorithm>

#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

// A new architecture: one file beside the others, its declaration in rows.h, and its name here.
constexpr const Architecture* kArchitectures[] = {
    &kLlama,   &kQwen2,   &kQwen3,  &kGemma,   &kGemma2, &kGemma3, &kPhi2,    &kPhi3,  &kGpt2,     &kStarCoder2, &kStableLm, &kOlmo2,
    &kSmolLm3, &kGranite, &kCohere, &kCohere2, &kGlm4,   &kErnie,  &kSeedOss, &kArcee, &kNemotron, &kBitNet,     &kBitNet25, &kBitNetB158,
};

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
