// The rows of the table of architectures: each is defined in the file of its name.
#pragma once

#include "wick/model/architecture.h"
#include "wick/model/model_config.h"

namespace wick {

extern const Architecture kLlama, kQwen2, kQwen3, kGemma, kGemma2, kGemma3, kPhi2, kPhi3, kGpt2, kStarCoder2, kStableLm, kOlmo2, kSmolLm3,
    kGranite, kCohere, kCohere2, kGlm4, kErnie, kSeedOss, kArcee, kNemotron, kBitNet, kBitNet25, kBitNetB158;

}  // namespace wick
