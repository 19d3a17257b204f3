// MeasuredPeaks are what an opened device can do at most, measured on the spot: the bounds that a speed is compared with.
#pragma once

namespace [[gnu::visibility("default")]] wick {

// Each a second, by everything that the device was opened with (all its threads); 0: the device has no such instruction, or does not
// measure it. A multiplication and its addition are two operations.
struct MeasuredPeaks {
  double read_bytes = 0;       // from memory, in order
  double int8_operations = 0;  // dot products of 8-bit numbers, summed in 32 bits
  double bf16_operations = 0;  // dot products of bf16, summed in f32
  double f32_operations = 0;   // fused multiply-adds
};

}  // namespace wick
