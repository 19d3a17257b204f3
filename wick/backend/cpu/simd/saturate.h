// saturated: a float as an integer: toward zero, at the ends of its range where it is beyond, 0 for NaN.
#pragma once

#include <limits>

namespace wick::cpu {

// Into the code of each instruction set, so that loops around it become vector code.
template <class To>
[[gnu::always_inline]] inline To saturated(double value) {
  // The largest double below 2^63 for i64; exact for the narrower types.
  constexpr auto kLow = static_cast<double>(std::numeric_limits<To>::min());
  constexpr auto kHigh = static_cast<double>(std::numeric_limits<To>::max());
  if (!(value > kLow)) return value != value ? To{0} : std::numeric_limits<To>::min();
  if (value >= kHigh) return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

}  // namespace wick::cpu
