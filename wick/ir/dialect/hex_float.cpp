#include "wick/ir/dialect/hex_float.h"

#include <array>
#include <charconv>
#include <cmath>

namespace wick::ir {

std::string hex_float(double value) {
  std::array<char, 32> digits{};
  const std::to_chars_result end = std::to_chars(digits.data(), digits.data() + digits.size(), std::fabs(value), std::chars_format::hex);
  return (std::signbit(value) ? "-0x" : "0x") + std::string(digits.data(), end.ptr);
}

}  // namespace wick::ir
