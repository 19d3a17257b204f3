// Rotary position embedding (Su et al. 2021) of batches: pairs of a head's elements turn by angles that grow with the position.
//
// Pair (a, b) becomes (a·cos - b·sin, a·sin + b·cos). cos and sin: [tokens', head_dim / 2], or [batch, tokens', head_dim / 2] where each
// sequence has its own positions; tokens' may be more than x's tokens. Results have x's shape and dtype. Errors: shape_mismatch;
// dtype_mismatch for dtypes that are not all one float.
#pragma once

#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {
namespace nn {

// x [batch, heads, tokens, head_dim]; pairs (i, i + head_dim / 2), as Hugging Face's checkpoints have them.
[[nodiscard]] Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin);
// The same with pairs (2i, 2i + 1), as Llama's own checkpoints have them.
[[nodiscard]] Tensor rope_i(const Tensor& x, const Tensor& cos, const Tensor& sin);
// x [batch, tokens, heads, head_dim]; pairs (i, i + head_dim / 2).
[[nodiscard]] Tensor rope_thd(const Tensor& x, const Tensor& cos, const Tensor& sin);
// The same composed of elementwise functions: what the fused ones mean, with gradients for cos and sin too.
[[nodiscard]] Tensor rope_slow(const Tensor& x, const Tensor& cos, const Tensor& sin);
[[nodiscard]] Tensor rope_i_slow(const Tensor& x, const Tensor& cos, const Tensor& sin);
[[nodiscard]] Tensor rope_thd_slow(const Tensor& x, const Tensor& cos, const Tensor& sin);

}  // namespace nn
}  // namespace wick
