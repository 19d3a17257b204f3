// Descriptions of quantization types for users: size and purpose.
#pragma once

#include <string>

#include "wick/convert/quantize_plan.h"

namespace wick {

// Bits per weight of a Llama with 8 billion parameters, which the mix is applied to: the types of all its tensors, counted.
[[nodiscard]] double bits_per_weight(const MixInfo& mix);
// One line for each mix, the largest first: name, bits per weight, size of that Llama, use.
[[nodiscard]] std::string quantization_table();

}  // namespace wick
