#include "wick/ir/dialect/hex_float.h"

#include <fmt/format.h>

#include <cmath>

namespace wick::ir {

std::string hex_float(double value) {
  const std::string sign = std::signbit(value) ? "-" : "";
  if (value == 0) return sign + "0x0p+0";
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);  // in [0.5, 1)
  auto digits = static_cast<uint64_t>(std::ldexp(fraction, 53));    // 1 + 52 bits
  std::string mantissa = fmt::format("{:013x}", digits & ((uint64_t{1} << 52) - 1));
  mantissa.erase(mantissa.find_last_not_of('0') + 1);
  return fmt::format("{}0x1{}{}p{:+d}", sign, mantissa.empty() ? "" : ".", mantissa, exponent - 1);
}

}  // namespace wick::ir
