// Factors of products that a folder's configuration has, and GGUF files have in the weights.
#pragma once

#include <string_view>

namespace wick {

// Before the name of a layer's matrix in a key of TranslatedConfig::metadata: its factor, or a factor for each part of ssm_in's rows, which
// are gate, inputs, columns, reads and time steps.
inline constexpr std::string_view kMultiplier = "multiplier.";

}  // namespace wick
