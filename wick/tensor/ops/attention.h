// attention: causal scaled dot-product attention over a key/value cache, with grouped queries.
#pragma once

#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {

// query f32 [tokens, heads, head_dim]; key and value [kv_heads, positions, head_dim], both f32, f16, bf16 or q8_0, views of a cache of
// which the first past + tokens positions are filled. Head h reads key/value head h / (heads / kv_heads); no copy of shared heads is made.
// Token t attends to positions 0 … past + t. Without `precise` a device may round to f16 (AttentionParams). Result: f32 [tokens, heads,
// head_dim].
[[nodiscard]] Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionParams& params);

}  // namespace wick
