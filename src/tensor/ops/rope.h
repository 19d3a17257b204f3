// rope: rotary position embedding (Su et al. 2021), from a table of cosines and sines.
#pragma once

#include "tensor/tensor.h"

namespace wick {

// x [tokens, heads, head_dim]; table f32 [tokens, pairs, 2] with (cos, sin) of each token's angles, 2·pairs ≤ head_dim.
// Pair (a, b) becomes (a·cos − b·sin, a·sin + b·cos); elements behind the pairs are copied. Result: x's shape and dtype, row-major.
[[nodiscard]] Tensor rope(const Tensor& x, const Tensor& table, RopeStyle style);

}  // namespace wick
