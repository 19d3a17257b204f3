// Descriptions of quantization types for users: size and purpose.
#pragma once

#include <string>
#include <string_view>

#include "wick/convert/quantize_plan.h"

namespace wick {

// Bits per weight of a Llama with 8 billion parameters, which the mix is applied to: the types of all its tensors, counted.
[[nodiscard]] double bits_per_weight(const MixInfo& mix);
// "balanced: the usual choice"
[[nodiscard]] std::string_view advice(Mix mix) noexcept;
// One line for each mix: name, bits per weight, size of that Llama, advice.
[[nodiscard]] std::string quantization_table();

}  // namespace wick
