// Float operations of the block quantizers, defined for every float: conversions to codes, and magnitudes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace wick::quant {

// The float cut to a whole number within [low, high]; NaN gives 0.
[[nodiscard]] inline int truncate_to_int(float value, float low, float high) noexcept {
  if (!(value >= low)) return std::isnan(value) ? 0 : static_cast<int>(low);
  return static_cast<int>(std::min(value, high));
}

// The largest absolute value; NaN counts for nothing, and no elements give 0.
[[nodiscard]] inline float largest_magnitude(const float* in, size_t count) noexcept {
  float magnitude = 0;
  for (size_t j = 0; j < count; ++j) magnitude = std::max(magnitude, std::fabs(in[j]));
  return magnitude;
}

}  // namespace wick::quant
