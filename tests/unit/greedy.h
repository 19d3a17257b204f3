// The parameters of most texts that tests generate.
#pragma once

#include <cstdint>

#include "wick/engine/generation.h"

namespace wick {

[[nodiscard]] inline GenerationParams greedy(int64_t max_tokens = 100) {
  GenerationParams params;
  params.sampling.temperature = 0;
  params.max_tokens = max_tokens;
  return params;
}

}  // namespace wick
