// Conversions of floats to codes that are defined for every float.
#pragma once

#include <algorithm>
#include <cmath>

namespace wick::quant {

// The float cut to a whole number within [low, high]; NaN gives 0.
[[nodiscard]] inline int truncate_to_int(float value, float low, float high) noexcept {
  if (!(value >= low)) return std::isnan(value) ? 0 : static_cast<int>(low);
  return static_cast<int>(std::min(value, high));
}

}  // namespace wick::quant
