// rope: rotary position embedding (Su et al. 2021), from a table of cosines and sines.
#pragma once

#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {

// x [tokens, heads, head_dim]; table f32 [tokens, pairs, 2] with (cos, sin) of each token's angles, 2·pairs ≤ head_dim.
// Pair (a, b) becomes (a·cos − b·sin, a·sin + b·cos); elements behind the pairs are copied. Result: x's shape and dtype, row-major.
[[nodiscard]] Tensor rope(const Tensor& x, const Tensor& table, RopeStyle style);

// For attention: turns query f32 [tokens, heads, head_dim] and key f32 [tokens, kv_heads, head_dim] as rope does, and writes the keys and
// value, of key's shape, into the cache's places for them, `keys` and `values`: [kv_heads, tokens, head_dim], both f32, f16, bf16 or q8_0,
// with contiguous rows. Result: the turned queries. Errors: shape_mismatch, dtype_mismatch; unsupported for a tracked operand, as a cache
// has no gradient.
[[nodiscard]] Tensor rope_into_cache(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& table, RopeStyle style,
                                     const Tensor& keys, const Tensor& values);

}  // namespace wick
