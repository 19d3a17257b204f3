#include "wick/tensor/ops/rope.h"

#include <array>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/contiguous_operand.h"
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

// Row `token` of x [tokens, heads, width] to slot slots[token] of the cache [heads, slots, width], where that is one.
void store_rows(const ReferenceTensor& x, const ReferenceTensor& slots, ReferenceTensor& cache) {
  const auto heads = static_cast<size_t>(x.shape[1]), width = static_cast<size_t>(x.shape[2]);
  const auto room = static_cast<size_t>(cache.shape[1]);
  for (size_t row = 0; row < slots.values.size() * heads; ++row) {
    const double slot = slots.values[row / heads];
    if (slot < 0) continue;
    const auto from = x.values.begin() + static_cast<std::ptrdiff_t>(row * width);
    const size_t to = (row % heads * room + static_cast<size_t>(slot)) * width;
    std::copy_n(from, width, cache.values.begin() + static_cast<std::ptrdiff_t>(to));
  }
}

void rope_into_cache_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const ReferenceTensor &table = inputs[3], &positions = inputs[4];
  const auto row = static_cast<size_t>(2 * table.shape[1]);
  ReferenceTensor angles{{positions.shape[0], table.shape[1], 2}, {}, DType::f32};
  for (const double position : positions.values) {
    if (row == 0) continue;
    const auto first = table.values.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(position) * row);
    angles.values.insert(angles.values.end(), first, first + static_cast<std::ptrdiff_t>(row));
  }
  const auto turned = [&](const ReferenceTensor& x) {
    const std::array<ReferenceTensor, 2> operands{x, angles};
    std::array<ReferenceTensor, 1> result{x};
    rope_reference(params, operands, result);
    return result[0];
  };
  store_rows(turned(inputs[1]), inputs[5], outputs[0]);
  store_rows(inputs[2], inputs[5], outputs[1]);
  outputs[2].values = turned(inputs[0]).values;
}

std::string_view cache_unsupported(DType dtype) { return is_cache_dtype(dtype) ? "" : "a key/value cache is f32, f16, bf16 or q8_0"; }

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
                            .unsupported = refuse_all_but_floats,
                            .gradient_kind = GradientKind::function,
                            .gradient = rope_gradient};

Tensor rope(const Tensor& x, const Tensor& table, RopeStyle style) {
  check_assigned("rope", {{"x", x}, {"table", table}});
  check_rotation("rope", x, table);
  Tensor result = make_result("rope", x.shape(), x.dtype(), x.device());
  const RopeParams params{style};
  apply(OpId::rope, params, {&x, &table}, {&result});
  return result;
}

const OpRule rules::rope_into_cache = {
    .defining_operand = kFirstOutput, .reference = rope_into_cache_reference, .unsupported = cache_unsupported, .updates = true};

Tensor rope_into_cache(const Tensor& query, const Tensor& key, const Tensor& value, const CachePlaces& places, const Tensor& table,
                       RopeStyle style, const Tensor& keys, const Tensor& values) {
  const char* const op = "rope_into_cache";
  const Tensor &positions = places.positions, &slots = places.slots;
  check_assigned(op, {{"query", query},
                      {"key", key},
                      {"value", value},
                      {"positions", positions},
                      {"slots", slots},
                      {"table", table},
                      {"keys", keys},
                      {"values", values}});
  const bool ranks = query.rank() == 3 && key.rank() == 3 && value.rank() == 3 && keys.rank() == 3 && values.rank() == 3;
  const bool fits = ranks && key.shape()[2] == query.shape()[2] && key.shape()[0] == query.shape()[0] &&
                    value.shape()[0] == key.shape()[0] && value.shape()[1] == key.shape()[1] && keys.shape()[0] == key.shape()[1] &&
                    values.shape()[0] == key.shape()[1] && keys.shape()[1] == values.shape()[1] && keys.shape()[2] == key.shape()[2] &&
                    values.shape()[2] == value.shape()[2];
  const auto has_rows = [](const Tensor& cache) { return cache.shape()[2] == 1 || cache.layout().stride(2) == 1; };
  if (!fits || !has_rows(keys) || !has_rows(values)) {
    fail(ErrorCode::shape_mismatch,
         "{}: query {}, key {}, value {}, keys {}, values {}: want [tokens, heads, d], [tokens, kv_heads, d], [tokens, kv_heads, d'], "
         "[kv_heads, slots, d] and [kv_heads, slots, d'] with contiguous rows",
         op, query.describe(), key.describe(), value.describe(), keys.describe(), values.describe());
  }
  const bool turns = table.rank() == 3 && table.shape()[2] == 2 && 2 * table.shape()[1] <= query.shape()[2];
  const Shape tokens{query.shape()[0]};
  if (!turns || positions.shape() != tokens || slots.shape() != tokens) {
    fail(ErrorCode::shape_mismatch,
         "{}: table {}, positions {}, slots {}: want [positions, pairs, 2] with 2·pairs ≤ {}, and twice [{}], one for each token", op,
         table.describe(), positions.describe(), slots.describe(), query.shape()[2], query.shape()[0]);
  }
  const bool numbers = query.dtype() == DType::f32 && key.dtype() == DType::f32 && value.dtype() == DType::f32;
  if (!numbers || keys.dtype() != values.dtype() || !is_cache_dtype(keys.dtype())) {
    fail(ErrorCode::dtype_mismatch,
         "{}: query {}, key {} and value {} must be f32, keys {} and values {} of one dtype: f32, f16, bf16 or q8_0", op, query.describe(),
         key.describe(), value.describe(), keys.describe(), values.describe());
  }
  if (table.dtype() != DType::f32 || positions.dtype() != DType::i32 || slots.dtype() != DType::i32) {
    fail(ErrorCode::dtype_mismatch, "{}: table {} must be f32, positions {} and slots {} i32", op, table.describe(), positions.describe(),
         slots.describe());
  }
  const ContiguousOperand q(query), k(key), v(value), angles(table), at(positions), to(slots);
  Tensor keys_out = keys, values_out = values, result = make_result(op, query.shape(), DType::f32, query.device());
  if (result.shape()[0] == 0) return result;
  apply(OpId::rope_into_cache, RopeParams{style}, {q.get(), k.get(), v.get(), angles.get(), at.get(), to.get()},
        {&keys_out, &values_out, &result});
  return result;
}

}  // namespace wick
