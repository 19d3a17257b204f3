// Division toward minus infinity, as Python and PyTorch have it: what C's remainder becomes at the divisor's sign.
#pragma once

#include <cmath>

namespace wick {

// C's remainder, moved to the divisor's sign.
[[nodiscard]] inline double floor_remainder(double lhs, double rhs) {
  const double rest = std::fmod(lhs, rhs);
  return rest != 0 && (rest < 0) != (rhs < 0) ? rest + rhs : rest;
}

// The quotient of that remainder. lhs - rest is a whole number of times rhs but for roundings, which the nearest whole number undoes.
[[nodiscard]] inline double floor_quotient(double lhs, double rhs) {
  if (rhs == 0) return lhs / rhs;
  const double rest = std::fmod(lhs, rhs);
  const double quotient = (lhs - rest) / rhs - (rest != 0 && (rest < 0) != (rhs < 0) ? 1 : 0);
  return quotient == 0 ? std::copysign(0.0, lhs / rhs) : std::round(quotient);
}

}  // namespace wick
