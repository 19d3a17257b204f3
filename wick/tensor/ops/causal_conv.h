// causal_conv: short convolutions over the rows of sequences, whose last rows are kept as states.
#pragma once

#include "wick/tensor/ops/state_slots.h"
#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {

// A convolution of each column by itself: weight f32 [kernel, width], the furthest position first, and bias [width].
struct ColumnTaps {
  Tensor weight, bias;
};

// Each row of x, f32 [rows, width], and the kernel - 1 rows of its sequence before it, times the taps, plus the bias; then silu, if asked
// for. Each sequence has equally many rows, in their order, after those of the sequence before. states: f32 [slots, (kernel - 1) · width]
// with contiguous rows, such as a range of the columns of a larger tensor: the rows of x before a sequence's first are read from row
// `from`, those up to its last written to row `to`, which no other sequence has. Result: f32 [rows, width]. Errors: shape_mismatch,
// dtype_mismatch; unsupported for a tracked operand, as it has no gradient; where the device's memory is the host's, invalid_argument for a
// slot that is not there.
[[nodiscard]] Tensor causal_conv(const Tensor& x, const ColumnTaps& taps, const StateSlots& slots, const Tensor& states,
                                 CausalConvParams params);

}  // namespace wick
