#include "tensor/ops/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "tensor/ops/dispatch.h"
#include "tensor/ops/op_rule.h"

namespace wick {
namespace {

void reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
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

}  // namespace

const OpRule kAttentionRule = {OpId::attention, 1, reference};

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionParams& params) {
  const bool fits = query.rank() == 3 && key.rank() == 3 && key.shape() == value.shape() && query.shape()[2] == key.shape()[2] &&
                    key.shape()[0] > 0 && query.shape()[1] % key.shape()[0] == 0 && params.past >= 0 &&
                    params.past + query.shape()[0] <= key.shape()[1];
  if (!fits) {
    fail(
        ErrorCode::shape_mismatch,
        "attention: query {}, key {}, value {} with {} past positions: want [tokens, heads, d] and twice [kv_heads, positions, d], heads a "
        "multiple of kv_heads, past + tokens ≤ positions",
        query.describe(), key.describe(), value.describe(), params.past);
  }
  if (query.dtype() != DType::f32 || key.dtype() != value.dtype() || (key.dtype() != DType::f32 && key.dtype() != DType::f16)) {
    fail(ErrorCode::dtype_mismatch, "attention: query {} must be f32, key {} and value {} both f32 or both f16", query.describe(),
         key.describe(), value.describe());
  }
  const Tensor rows = query.contiguous();
  const Tensor keys = with_contiguous_rows(key);
  const Tensor values = with_contiguous_rows(value);
  Tensor result = Tensor::empty(query.shape(), DType::f32, query.device());
  if (result.elements() > 0) dispatch(OpId::attention, &params, {&rows, &keys, &values}, {&result});
  return result;
}

}  // namespace wick
