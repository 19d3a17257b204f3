// rope: rotary position embedding (Su et al. 2021), from a table of cosines and sines.
#pragma once

#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {

// x [tokens, heads, head_dim]; table f32 [tokens, pairs, 2] with (cos, sin) of each token's angles, 2·pairs ≤ head_dim.
// Pair (a, b) becomes (a·cos − b·sin, a·sin + b·cos); elements behind the pairs are copied. Result: x's shape and dtype, row-major.
[[nodiscard]] Tensor rope(const Tensor& x, const Tensor& table, RopeStyle style);

// Where the tokens of a batch stand, i32 [tokens]: the position of each in its sequence, and the slot of the cache that takes its key and
// value; -1: none does.
struct CachePlaces {
  Tensor positions, slots;
};

// For attention: turns query f32 [tokens, heads, d] and key f32 [tokens, kv_heads, d] as rope does, each token by row `position` of the
// table [positions, pairs, 2] (without pairs nothing turns), and writes keys and value f32 [tokens, kv_heads, value_d] into their slots of
// the cache: keys [kv_heads, slots, d] and values [kv_heads, slots, value_d], both f32, f16, bf16 or q8_0, with contiguous rows. Result:
// the turned queries. Errors: shape_mismatch, dtype_mismatch; unsupported for a tracked operand, as a cache has no gradient; where the
// device's memory is the host's, invalid_argument for a position or a slot that is not there.
[[nodiscard]] Tensor rope_into_cache(const Tensor& query, const Tensor& key, const Tensor& value, const CachePlaces& places,
                                     const Tensor& table, RopeStyle style, const Tensor& keys, const Tensor& values);

}  // namespace wick
