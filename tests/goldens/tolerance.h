// How far a result may lie from a golden: bounds from the dtype, the op's arithmetic and the magnitude of its operands alone.
#pragma once

#include <optional>
#include <string>

#include "goldens/golden.h"

namespace wick::goldens {

// What is compared: each is computed from the one before it.
enum class Quantity { result, gradient, second_gradient };

// none, or the first element that is too far off: "[1, 2]: 0.25, expected 0.5 ± 1e-06".
[[nodiscard]] std::optional<std::string> difference(const Case& entry, Quantity quantity, const Expected& expected, const Tensor& actual);

}  // namespace wick::goldens
