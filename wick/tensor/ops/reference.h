// Runs an op's reference loops on operands in host memory: every dtype, every layout.
#pragma once

#include <array>

#include "wick/device/op_call.h"
#include "wick/tensor/ops/op_rule.h"

namespace wick {

// A whole number read from an operand as an integer; saturates where i64 ends.
[[nodiscard]] int64_t as_integer(double value) noexcept;
// `value` wrapped to that integer dtype: its low bits in two's complement.
[[nodiscard]] double wrap_integer(DType dtype, int64_t value) noexcept;

// Σ a[i] · b[i], in four sums that do not wait for one another.
[[nodiscard]] inline double dot_reference(const double* a, const double* b, size_t count) noexcept {
  std::array<double, 4> sums{};
  size_t at = 0;
  for (; at + 4 <= count; at += 4) {
    for (size_t lane = 0; lane < 4; ++lane) sums[lane] += a[at + lane] * b[at + lane];
  }
  for (; at < count; ++at) sums[0] += a[at] * b[at];
  return sums[0] + sums[1] + sums[2] + sums[3];
}

// The operand's elements as doubles, in row-major order.
[[nodiscard]] ReferenceTensor read_reference(const Operand& operand);
// The same of an operand on any device, whose queue brings its bytes; no other op is needed.
[[nodiscard]] ReferenceTensor download_reference(Runtime& runtime, const Operand& operand);
// Rounds the elements to the operand's dtype and stores them through its layout. Integers truncate and saturate; NaN becomes 0.
void write_reference(const ReferenceTensor& tensor, const Operand& operand);
// read, loop, write. The call's buffers must be in host memory.
void run_reference(const OpCall& call);

}  // namespace wick
