#include "wick/tensor/ops/rope.h"

#include <array>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/op_rule.h"

namespace wick {
namespace {

void rope_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const RopeStyle style = static_cast<const RopeParams*>(params)->style;
  const auto heads = static_cast<size_t>(inputs[0].shape[1]);
  const auto head_dim = static_cast<size_t>(inputs[0].shape[2]);
  const auto pairs = static_cast<size_t>(inputs[1].shape[1]);
  outputs[0].values = inputs[0].values;
  for (size_t row = 0; row * head_dim < inputs[0].values.size(); ++row) {
    double* y = outputs[0].values.data() + row * head_dim;
    const double* angles = inputs[1].values.data() + row / heads * pairs * 2;
    for (size_t pair = 0; pair < pairs; ++pair) {
      const size_t first = style == RopeStyle::interleaved ? 2 * pair : pair;
      const size_t second = style == RopeStyle::interleaved ? 2 * pair + 1 : pair + pairs;
      const double a = y[first];
      const double b = y[second];
      y[first] = a * angles[2 * pair] - b * angles[2 * pair + 1];
      y[second] = a * angles[2 * pair + 1] + b * angles[2 * pair];
    }
  }
}

// [tokens, heads, head_dim] as [heads, tokens, head_dim].
std::vector<double> by_heads(const ReferenceTensor& x) {
  const auto tokens = static_cast<size_t>(x.shape[0]), heads = static_cast<size_t>(x.shape[1]), width = static_cast<size_t>(x.shape[2]);
  std::vector<double> result(x.values.size());
  for (size_t i = 0; i < result.size(); ++i) result[(i / width % heads * tokens + i / width / heads) * width + i % width] = x.values[i];
  return result;
}

void rope_into_cache_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const auto turned = [&](const ReferenceTensor& x) {
    const std::array<ReferenceTensor, 2> operands{x, inputs[3]};
    std::array<ReferenceTensor, 1> result{x};
    rope_reference(params, operands, result);
    return result[0];
  };
  outputs[0].values = by_heads(turned(inputs[1]));
  outputs[1].values = by_heads(inputs[2]);
  outputs[2].values = turned(inputs[0]).values;
}

std::string_view cache_hole(DType dtype) { return is_cache_dtype(dtype) ? "" : "a key/value cache is f32, f16, bf16 or q8_0"; }

void check_rotation(const char* op, const Tensor& x, const Tensor& table) {
  const bool fits = x.rank() == 3 && table.rank() == 3 && table.shape()[0] == x.shape()[0] && table.shape()[2] == 2 &&
                    2 * table.shape()[1] <= x.shape()[2];
  if (!fits) {
    fail(ErrorCode::shape_mismatch, "{}: x {} must be [tokens, heads, head_dim] and table {} [tokens, pairs, 2] with 2·pairs ≤ head_dim",
         op, x.describe(), table.describe());
  }
  if (!is_float(x.dtype()) || table.dtype() != DType::f32) {
    fail(ErrorCode::dtype_mismatch, "{}: x {} must be a float tensor and table {} f32", op, x.describe(), table.describe());
  }
}

// A rotation's adjoint is the rotation back: the sines change their sign.
void rope_gradient(GradientContext& context) {
  const Tensor table = context.input(1);
  if (context.wants(1)) {
    fail(ErrorCode::unsupported, "rope: the table of angles {} is tracked, and has no rope_gradient; detach it", table.describe());
  }
  const Tensor back = table * Tensor::of<float>({1, -1}, table.device());
  context.give(0, rope(context.gradient(), back, context.parameters<RopeParams>().style));
}

}  // namespace

const OpRule rules::rope = {.defining_operand = 0,
                            .reference = rope_reference,
                            .hole = refuse_all_but_floats,
                            .gradient_kind = GradientKind::function,
                            .gradient = rope_gradient};

Tensor rope(const Tensor& x, const Tensor& table, RopeStyle style) {
  check_assigned("rope", {{"x", x}, {"table", table}});
  check_rotation("rope", x, table);
  Tensor result = Tensor::empty(x.shape(), x.dtype(), x.device());
  const RopeParams params{style};
  apply(OpId::rope, params, {&x, &table}, {&result});
  return result;
}

const OpRule rules::rope_into_cache = {.defining_operand = kFirstOutput, .reference = rope_into_cache_reference, .hole = cache_hole};

Tensor rope_into_cache(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& table, RopeStyle style,
                       const Tensor& keys, const Tensor& values) {
  check_rotation("rope_into_cache", query, table);
  check_rotation("rope_into_cache", key, table);
  const bool fits = key.shape()[2] == query.shape()[2] && value.shape() == key.shape() && keys.shape() == values.shape() &&
                    keys.shape() == Shape{key.shape()[1], key.shape()[0], key.shape()[2]};
  const auto has_rows = [](const Tensor& cache) { return cache.shape()[2] == 1 || cache.layout().stride(2) == 1; };
  if (!fits || !has_rows(keys) || !has_rows(values)) {
    fail(ErrorCode::shape_mismatch,
         "rope_into_cache: query {}, key {}, value {}, keys {}, values {}: want [tokens, heads, d], twice [tokens, kv_heads, d] and twice "
         "[kv_heads, tokens, d] with contiguous rows",
         query.describe(), key.describe(), value.describe(), keys.describe(), values.describe());
  }
  const bool numbers = query.dtype() == DType::f32 && key.dtype() == DType::f32 && value.dtype() == DType::f32;
  if (!numbers || keys.dtype() != values.dtype() || !is_cache_dtype(keys.dtype())) {
    fail(ErrorCode::dtype_mismatch,
         "rope_into_cache: query {}, key {} and value {} must be f32, keys {} and values {} of one dtype: f32, f16, bf16 or q8_0",
         query.describe(), key.describe(), value.describe(), keys.describe(), values.describe());
  }
  const Tensor q = query.contiguous(), k = key.contiguous(), v = value.contiguous(), angles = table.contiguous();
  Tensor keys_out = keys, values_out = values, result = Tensor::empty(query.shape(), DType::f32, query.device());
  apply(OpId::rope_into_cache, RopeParams{style}, {&q, &k, &v, &angles}, {&keys_out, &values_out, &result});
  return result;
}

}  // namespace wick
