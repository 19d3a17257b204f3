// Rotary position embedding.
#pragma once

#include "wick/ir/kernel.h"
#include "wick/layout/dtype.h"
#include "wick/op/device_caps.h"

namespace wick::kernels {

// Buffers x [tokens, heads, head_dim], table f32 [tokens, pairs, 2] of (cos, sin), y as x. Parameters: count = tokens · heads · units,
// heads, units = head_dim - pairs, pairs, step, gap; offset and three strides of x, table and y. Pair i of a head is (i · step, i · step +
// gap); elements behind the pairs are copied. A lane takes a pair or a copied element.
[[nodiscard]] ir::Kernel rope(DType dtype, const DeviceCaps& caps);

// How rope_into_cache takes rows: by blocks of q8_0, by four neighbours, or element by element.
struct CacheRows {
  DType dtype = DType::f32;  // of the cache
  uint32_t unit = 1;         // elements that a lane takes: 32 of q8_0, else 4 or 1
  bool interleaved = false;  // pair i of a head is (2i, 2i + 1), else (i, i + pairs)
};

// The step between a token's projections and attention in one launch: RoPE of queries and keys, keys and values written into their caches.
// Buffers query [tokens, heads, d], key [tokens, kv_heads, d], value [tokens, kv_heads, value_d], table [positions, pairs, 2] of (cos,
// sin), all f32 and row-major; places: positions and slots [tokens], a row of the table and one of the cache for each token, or for no row
// -1; keys, values: the caches; turned: the queries. Parameters: count, of all units, heads, kv_heads, units = d / unit,
// value_units, pairs; where query, key, value, table, positions and slots begin; of keys and of values, in units: offset, a head's stride,
// a slot's stride; where turned begins, a multiple of four if the unit is. A lane takes a unit.
[[nodiscard]] ir::Kernel rope_into_cache(const CacheRows& rows, const DeviceCaps& caps);

}  // namespace wick::kernels
