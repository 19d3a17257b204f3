// attention: scaled dot-product attention of a batch of sequences over a key/value cache, with grouped queries.
#pragma once

#include <optional>

#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {

// Where a batch's sequences are: i32 tensors on the op's device, whose numbers AttentionParams explains.
struct AttentionPlan {
  Tensor starts;   // [sequences + 1]
  Tensor lengths;  // [sequences]
  Tensor table;    // [sequences, blocks]
};

// Additional inputs of the scores, f32; AttentionParams' has_… follow from them.
struct AttentionBiases {
  std::optional<Tensor> sinks = std::nullopt;   // [heads]
  std::optional<Tensor> slopes = std::nullopt;  // [heads]
  std::optional<Tensor> mask = std::nullopt;    // [heads, tokens, positions]
};

// A result and the logarithm of each row's denominator: results over parts of the positions can be put together by it.
struct AttentionState {
  Tensor value;        // f32 [tokens, heads, value_d]
  Tensor log_sum_exp;  // f32 [tokens, heads]
};

// query f32, f16 or bf16 [tokens, heads, d]; key [kv_heads, slots, d] and value [kv_heads, slots, value_d] of one of kCacheDTypes. Head h
// reads key/value head h / (heads / kv_heads); no copy of shared heads is made. Errors: shape_mismatch, dtype_mismatch, invalid_argument
// for parameters below 0 and, where the device's memory is the host's, for a plan that leads outside the cache; unsupported for a tracked
// operand. Result: f32, rounded to `dtype` (linear_input_dtype) [tokens, heads, value_d].
[[nodiscard]] Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionPlan& plan,
                               const AttentionParams& params, const AttentionBiases& biases = {}, DType dtype = DType::f32);
[[nodiscard]] AttentionState attention_state(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionPlan& plan,
                                             const AttentionParams& params, const AttentionBiases& biases = {});

// One sequence whose positions lie one behind the other in a cache, of which past + tokens are filled. Token t sees 0 … past + t.
struct SequenceAttention {
  float scale = 1;
  int64_t past = 0;
  bool precise = false;  // AttentionParams'
};
// The same for it, with a plan made here; operands may be tracked.
[[nodiscard]] Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const SequenceAttention& sequence);

}  // namespace wick
