#include "wick/tensor/ops/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/normalize.h"
#include "wick/tensor/ops/op_rule.h"

namespace wick {
namespace {

void attention_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const auto& attention = *static_cast<const AttentionParams*>(params);
  const Shape& query = inputs[0].shape;
  const auto tokens = static_cast<size_t>(query[0]);
  const auto heads = static_cast<size_t>(query[1]);
  const auto width = static_cast<size_t>(query[2]);
  const auto positions = static_cast<size_t>(inputs[1].shape[1]);
  const size_t group = heads / static_cast<size_t>(inputs[1].shape[0]);
  std::vector<double> scores;
  for (size_t row = 0; row < tokens * heads; ++row) {
    const size_t visible = static_cast<size_t>(attention.past) + row / heads + 1;
    const size_t shared = row % heads / group * positions * width;
    const double* q = inputs[0].values.data() + row * width;
    scores.assign(visible, 0);
    double largest = -std::numeric_limits<double>::infinity();
    for (size_t position = 0; position < visible; ++position) {
      const double* k = inputs[1].values.data() + shared + position * width;
      for (size_t i = 0; i < width; ++i) scores[position] += q[i] * k[i];
      scores[position] *= attention.scale;
      largest = std::max(largest, scores[position]);
    }
    double sum = 0;
    for (double& score : scores) sum += score = std::exp(score - largest);
    double* y = outputs[0].values.data() + row * width;
    std::fill(y, y + width, 0.0);
    for (size_t position = 0; position < visible; ++position) {
      const double* v = inputs[2].values.data() + shared + position * width;
      for (size_t i = 0; i < width; ++i) y[i] += scores[position] / sum * v[i];
    }
  }
}

// Heads and positions may lie anywhere; a row of head_dim elements must be contiguous, which a cache's always is.
Tensor with_contiguous_rows(const Tensor& cache) {
  return cache.shape()[2] == 1 || cache.layout().stride(2) == 1 ? cache : cache.contiguous();
}

// The same from ops that have gradients: scores are materialised.
Tensor attention_from_parts(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionParams& params) {
  const int64_t tokens = query.shape()[0];
  const int64_t kv_heads = key.shape()[0];
  const int64_t width = query.shape()[2];
  const int64_t visible = params.past + tokens;
  const int64_t group = query.shape()[1] / kv_heads;
  const auto positions = [&](const Tensor& cache) { return cache.narrow(1, 0, visible).to_dtype(DType::f32).unsqueeze(1); };
  const Tensor heads = query.transpose(0, 1).reshape({kv_heads, group, tokens, width});
  const Tensor scores = heads.matmul(positions(key).t()) * double{params.scale};
  const Tensor place = Tensor::arange(0, static_cast<double>(visible), DType::i64, query.device());
  const Tensor last = Tensor::arange(static_cast<double>(params.past), static_cast<double>(visible), DType::i64, query.device());
  const Tensor hidden = place.gt(last.unsqueeze(1));
  const Tensor nothing = Tensor::full({}, -std::numeric_limits<double>::infinity(), DType::f32, query.device());
  const Tensor mixed = softmax(hidden.where_cond(nothing, scores), -1).matmul(positions(value));
  return mixed.reshape({query.shape()[1], tokens, width}).transpose(0, 1).contiguous();
}

std::string_view attention_hole(DType dtype) { return is_cache_dtype(dtype) ? "" : "a key/value cache is f32, f16, bf16 or q8_0"; }

}  // namespace

// The tape sees its parts.
const OpRule rules::attention = {.defining_operand = 1, .reference = attention_reference, .hole = attention_hole};

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionParams& params) {
  check_assigned("attention", {{"query", query}, {"key", key}, {"value", value}});
  const bool fits = query.rank() == 3 && key.rank() == 3 && key.shape() == value.shape() && query.shape()[2] == key.shape()[2] &&
                    key.shape()[0] > 0 && query.shape()[1] % key.shape()[0] == 0 && params.past >= 0 &&
                    query.shape()[0] <= key.shape()[1] && params.past <= key.shape()[1] - query.shape()[0];
  if (!fits) {
    fail(
        ErrorCode::shape_mismatch,
        "attention: query {}, key {}, value {} with {} past positions: want [tokens, heads, d] and twice [kv_heads, positions, d], heads a "
        "multiple of kv_heads, past + tokens ≤ positions",
        query.describe(), key.describe(), value.describe(), params.past);
  }
  if (query.dtype() != DType::f32 || key.dtype() != value.dtype() || !is_cache_dtype(key.dtype())) {
    fail(ErrorCode::dtype_mismatch, "attention: query {} must be f32, key {} and value {} of one dtype: f32, f16, bf16 or q8_0",
         query.describe(), key.describe(), value.describe());
  }
  if (query.is_tracked() || key.is_tracked() || value.is_tracked()) return attention_from_parts(query, key, value, params);
  const Tensor rows = query.contiguous();
  const Tensor keys = with_contiguous_rows(key);
  const Tensor values = with_contiguous_rows(value);
  Tensor result = Tensor::empty(query.shape(), DType::f32, query.device());
  if (result.elements() > 0) dispatch(OpId::attention, &params, {&rows, &keys, &values}, {&result});
  return result;
}

}  // namespace wick
