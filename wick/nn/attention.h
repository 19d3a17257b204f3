// Scaled dot product attention (Vaswani et al. 2017) of batches, with the variants that models use.
#pragma once

#include <cstdint>
#include <optional>

#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {
namespace nn {

// A score is q · k · scale, then softcap, ALiBi and an additive mask, in that order; what is hidden is -inf before the softmax. The last
// query sees the last position: query t of T is at position p = positions - T + t.
struct AttentionOptions {
  double scale = 0;  // 0: 1 / √head_dim
  // Query p sees positions up to p.
  bool causal = false;
  // Query p does not see positions p - window and before; 0: no window.
  int64_t window = 0;
  // Scores become softcap · tanh(score / softcap); 0: they stay.
  double softcap = 0;
  // [heads]: scores lose slope · (p - position) (Press et al. 2022).
  std::optional<Tensor> alibi_slopes = std::nullopt;
  // [heads]: one more score for each query, which takes its share of the softmax and gives nothing (Xiao et al. 2024).
  std::optional<Tensor> sinks = std::nullopt;
  // Broadcasts to [batch, heads, tokens, positions]. u8: 0 hides; a float: it is added to the score.
  std::optional<Tensor> mask = std::nullopt;
};

// query [batch, heads, tokens, head_dim], key [batch, kv_heads, positions, head_dim], value [batch, kv_heads, positions, value_dim], of one
// float dtype -> [batch, heads, tokens, value_dim]. heads is a multiple of kv_heads; query head h reads key head h / (heads / kv_heads)
// in place. A query that sees nothing gives NaN, as in PyTorch, unless it has a sink.
//
// Where nothing is tracked, scores are held for a block of queries at a time: memory grows with the positions, not with their square.
// Errors: shape_mismatch, dtype_mismatch; invalid_argument for a negative window or softcap.
[[nodiscard]] Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                                  const AttentionOptions& options = {});

}  // namespace nn
}  // namespace wick
