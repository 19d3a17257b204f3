// What a fuzz target did with its inputs: the mutation driver prints it at the end. libFuzzer does not look at it.
#pragma once

#include <cstdint>

namespace wick::fuzz {

struct Outcome {
  uint64_t accepted = 0;  // the input was read as a valid one
  uint64_t refused = 0;   // the input was refused with a wick::Error
};

inline Outcome outcome;

}  // namespace wick::fuzz
