// Floats as hexadecimal literals: exact, and the same text from every C library.
#pragma once

#include <cstdint>
#include <string>

namespace wick::ir {

// "0x1.8p+1", "-0x0p+0", "0x1p-149"; finite numbers only.
[[nodiscard]] std::string hex_float(double value);

}  // namespace wick::ir
