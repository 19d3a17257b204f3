#include "wick/nn/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/attention.h"
#include "wick/tensor/ops/normalize.h"

namespace wick::nn {
namespace {

// Queries whose scores are held at once where nothing is tracked.
constexpr int64_t kQueryBlock = 64;

void check_shapes(const Tensor& query, const Tensor& key, const Tensor& value) {
  const bool ranks = query.rank() == 4 && key.rank() == 4 && value.rank() == 4;
  const bool fits = ranks && key.shape()[0] == query.shape()[0] && value.shape()[0] == query.shape()[0] &&
                    key.shape()[1] == value.shape()[1] && key.shape()[2] == value.shape()[2] && key.shape()[3] == query.shape()[3] &&
                    key.shape()[1] > 0 && query.shape()[1] % key.shape()[1] == 0;
  if (!fits) {
    fail(ErrorCode::shape_mismatch,
         "attention: query {}, key {}, value {}: want [batch, heads, tokens, d], [batch, kv_heads, positions, d] and [batch, kv_heads, "
         "positions, d'], heads a multiple of kv_heads",
         query.describe(), key.describe(), value.describe());
  }
  if (!is_float(query.dtype()) || key.dtype() != query.dtype() || value.dtype() != query.dtype()) {
    fail(ErrorCode::dtype_mismatch, "attention: query {}, key {} and value {} must have one float dtype", query.describe(), key.describe(),
         value.describe());
  }
}

void check_options(const Tensor& query, const Tensor& key, const AttentionOptions& options) {
  if (options.window < 0 || !(options.softcap >= 0) || !std::isfinite(options.scale)) {
    fail(ErrorCode::invalid_argument, "attention: a window of {}, a softcap of {} and a scale of {}: allowed: 0 or more for each",
         options.window, options.softcap, options.scale);
  }
  const int64_t heads = query.shape()[1];
  for (const std::optional<Tensor>* per_head : {&options.alibi_slopes, &options.sinks}) {
    if (*per_head && (*per_head)->shape() != Shape{heads}) {
      fail(ErrorCode::shape_mismatch, "attention: {} must be [{}]: {}", per_head == &options.sinks ? "sinks" : "slopes", heads,
           (*per_head)->describe());
    }
  }
  if (!options.mask) return;
  const Shape scores{query.shape()[0], heads, query.shape()[2], key.shape()[2]};
  if (options.mask->rank() > 4 || broadcast_shapes(scores, options.mask->shape(), "attention mask") != scores) {
    fail(ErrorCode::shape_mismatch, "attention: the mask {} does not broadcast to {}", options.mask->describe(), scores.to_string());
  }
  if (options.mask->dtype() != DType::u8 && !is_float(options.mask->dtype())) {
    fail(ErrorCode::dtype_mismatch, "attention: the mask {} must be u8 or float", options.mask->describe());
  }
}

// A block of queries and the positions that any of them may see.
struct Block {
  int64_t first_query;  // among the tokens
  int64_t queries;
  int64_t first_position;
  int64_t positions;
  int64_t offset;  // the position of query 0
};

Block block_of(int64_t first, int64_t count, int64_t tokens, int64_t positions, const AttentionOptions& options) {
  const int64_t offset = positions - tokens;
  const int64_t end = options.causal ? std::clamp<int64_t>(offset + first + count, 0, positions) : positions;
  const int64_t start = options.window > 0 ? std::clamp<int64_t>(offset + first - options.window + 1, 0, end) : 0;
  // At least one position stays, so that a query that sees nothing has a row of -inf.
  const int64_t kept = std::min(start, std::max<int64_t>(positions - 1, 0));
  return {first, count, kept, std::max<int64_t>(end - kept, std::min<int64_t>(positions, 1)), offset};
}

// p - position for each query and position of the block, [queries, positions].
Tensor distances(const Block& block, const Device& device) {
  const int64_t first = block.offset + block.first_query;
  const Tensor query = Tensor::arange(static_cast<double>(first), static_cast<double>(first + block.queries), DType::f32, device);
  const Tensor place = Tensor::arange(static_cast<double>(block.first_position),
                                      static_cast<double>(block.first_position + block.positions), DType::f32, device);
  return query.unsqueeze(1) - place.unsqueeze(0);
}

// The mask's part for the block; extents of 1 stay.
Tensor part_of(const Tensor& mask, const Block& block) {
  Tensor part = mask;
  if (part.rank() >= 1 && part.dim(-1) != 1) part = part.narrow(-1, block.first_position, block.positions);
  if (part.rank() >= 2 && part.dim(-2) != 1) part = part.narrow(-2, block.first_query, block.queries);
  return part;
}

// scores [batch, heads, queries, positions] with all that changes them before the softmax.
Tensor adjusted(Tensor scores, const Block& block, const AttentionOptions& options) {
  const DType dtype = scores.dtype();
  if (options.softcap > 0) scores = (scores * (1 / options.softcap)).tanh() * options.softcap;
  if (!options.causal && options.window == 0 && !options.alibi_slopes && !options.mask) return scores;
  const Tensor nothing = Tensor::full(Shape(), -std::numeric_limits<double>::infinity(), dtype, scores.device());
  const Tensor distance = distances(block, scores.device());
  if (options.alibi_slopes) {
    const Tensor slopes = options.alibi_slopes->to_dtype(dtype).reshape({-1, 1, 1});
    scores = scores - slopes * distance.to_dtype(dtype);
  }
  if (options.mask) {
    const Tensor mask = part_of(*options.mask, block);
    scores = mask.dtype() == DType::u8 ? mask.where_cond(scores, nothing) : scores + mask.to_dtype(dtype);
  }
  if (options.causal) scores = distance.lt(0).where_cond(nothing, scores);
  if (options.window > 0) scores = distance.ge(static_cast<double>(options.window)).where_cond(nothing, scores);
  return scores;
}

Tensor probabilities(const Tensor& scores, const AttentionOptions& options) {
  if (!options.sinks) return softmax(scores, -1);
  const Shape& shape = scores.shape();
  const Tensor sink = options.sinks->to_dtype(scores.dtype()).reshape({1, -1, 1, 1}).broadcast_to({shape[0], shape[1], shape[2], 1});
  return softmax(Tensor::cat({scores, sink}, -1), -1).narrow(-1, 0, shape.last());
}

// One block, in f32 (f64 for f64). The heads that share a key head are rows of one product: [batch, kv_heads, group · queries, …].
Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value, const Block& block, double scale,
              const AttentionOptions& options) {
  const int64_t batch = query.shape()[0];
  const int64_t heads = query.shape()[1];
  const int64_t kv_heads = key.shape()[1];
  const int64_t rows = heads / kv_heads * block.queries;
  const DType wide = query.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const auto positions = [&](const Tensor& x) { return x.narrow(2, block.first_position, block.positions).to_dtype(wide); };
  const Tensor shared = query.narrow(2, block.first_query, block.queries).to_dtype(wide).reshape({batch, kv_heads, rows, query.dim(3)});
  const Tensor scores = shared.matmul(positions(key).t()).affine(scale, 0).reshape({batch, heads, block.queries, block.positions});
  const Tensor shares = probabilities(adjusted(scores, block, options), options);
  return shares.reshape({batch, kv_heads, rows, block.positions})
      .matmul(positions(value))
      .reshape({batch, heads, block.queries, value.dim(3)})
      .to_dtype(query.dtype());
}

bool any_tracked(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionOptions& options) {
  const auto tracked = [](const std::optional<Tensor>& tensor) { return tensor && tensor->is_tracked(); };
  return query.is_tracked() || key.is_tracked() || value.is_tracked() || tracked(options.alibi_slopes) || tracked(options.sinks) ||
         tracked(options.mask);
}

// Whether the call is the device's own attention: one sequence, causal, without variants.
bool is_plain(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionOptions& options) {
  return query.dtype() == DType::f32 && options.causal && options.window == 0 && options.softcap == 0 && !options.alibi_slopes &&
         !options.sinks && !options.mask && key.dim(2) >= query.dim(2) && key.dim(3) == value.dim(3);
}

Tensor attend_by_op(const Tensor& query, const Tensor& key, const Tensor& value, double scale) {
  const SequenceAttention params{.scale = static_cast<float>(scale), .past = key.dim(2) - query.dim(2), .precise = true};
  std::vector<Tensor> results;
  results.reserve(static_cast<size_t>(query.dim(0)));
  for (int64_t i = 0; i < query.dim(0); ++i)
    results.push_back(wick::attention(query.get(i).transpose(0, 1), key.get(i), value.get(i), params).transpose(0, 1));
  return results.size() == 1 ? results.front().unsqueeze(0) : Tensor::stack(results, 0);
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionOptions& options) {
  check_assigned("scaled_dot_product_attention", {{"query", query}, {"key", key}, {"value", value}});
  check_shapes(query, key, value);
  check_options(query, key, options);
  const double scale = options.scale != 0 ? options.scale : 1 / std::sqrt(static_cast<double>(std::max<int64_t>(query.dim(3), 1)));
  const int64_t tokens = query.dim(2);
  const int64_t positions = key.dim(2);
  const Shape shape{query.dim(0), query.dim(1), tokens, value.dim(3)};
  if (shape.elements() == 0) return Tensor::zeros(shape, query.dtype(), query.device());
  if (positions == 0) fail(ErrorCode::shape_mismatch, "attention: key {} has no positions to attend to", key.describe());
  if (any_tracked(query, key, value, options)) {
    const Block whole{0, tokens, 0, positions, positions - tokens};
    return attend(query, key, value, whole, scale, options);
  }
  if (is_plain(query, key, value, options)) return attend_by_op(query, key, value, scale);
  std::vector<Tensor> parts;
  parts.reserve(static_cast<size_t>((tokens + kQueryBlock - 1) / kQueryBlock));
  for (int64_t first = 0; first < tokens; first += kQueryBlock) {
    const Block block = block_of(first, std::min(kQueryBlock, tokens - first), tokens, positions, options);
    parts.push_back(attend(query, key, value, block, scale, options));
  }
  return parts.size() == 1 ? parts.front() : Tensor::cat(parts, 2);
}

}  // namespace wick::nn
