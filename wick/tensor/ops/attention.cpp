#include "wick/tensor/ops/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "wick/base/fail.h"
#include "wick/op/attention_plan.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/contiguous_operand.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/normalize.h"
#include "wick/tensor/ops/op_rule.h"
#include "wick/tensor/ops/reference.h"

namespace wick {
namespace {

// The operands of the reference, by name.
struct ReferenceOperands {
  const AttentionParams& params;
  std::span<const ReferenceTensor> inputs;

  [[nodiscard]] const ReferenceTensor& optional(size_t place) const { return inputs[6 + place]; }
  [[nodiscard]] double sink(size_t head) const { return optional(0).values[head]; }
  [[nodiscard]] double slope(size_t head) const { return optional(params.has_sinks ? 1 : 0).values[head]; }
  [[nodiscard]] double mask(size_t head, size_t token, size_t position) const {
    const ReferenceTensor& mask = optional((params.has_sinks ? 1U : 0U) + (params.has_slopes ? 1U : 0U));
    return mask.values[(head * static_cast<size_t>(mask.shape[1]) + token) * static_cast<size_t>(mask.shape[2]) + position];
  }
  [[nodiscard]] std::vector<int32_t> numbers(size_t input) const { return {inputs[input].values.begin(), inputs[input].values.end()}; }
};

void attention_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const ReferenceOperands operands{*static_cast<const AttentionParams*>(params), inputs};
  const AttentionParams& p = operands.params;
  const std::vector<int32_t> starts = operands.numbers(3), lengths = operands.numbers(4), table = operands.numbers(5);
  const AttentionPlanNumbers plan{starts, lengths, table};
  const int64_t slots = inputs[1].shape[1];
  check_attention_plan(plan, inputs[0].shape[0], slots, p.has_mask ? inputs.back().shape[2] : -1, p);
  const auto heads = static_cast<size_t>(inputs[0].shape[1]), width = static_cast<size_t>(inputs[0].shape[2]),
             value_width = static_cast<size_t>(inputs[2].shape[2]), group = heads / static_cast<size_t>(inputs[1].shape[0]);
  for (size_t row = 0; row < static_cast<size_t>(inputs[0].shape[0]) * heads; ++row) {
    const size_t token = row / heads, head = row % heads;
    const auto after = std::upper_bound(starts.begin(), starts.end(), static_cast<int64_t>(token));
    const int64_t sequence = after - starts.begin() - 1, length = lengths[static_cast<size_t>(sequence)];
    const int64_t position = length - *after + static_cast<int64_t>(token);
    const auto [begin, end] = visible_positions(p, position, length);
    const auto place = [&](int64_t at) {
      const int64_t block = table[static_cast<size_t>(sequence * plan.blocks() + at / p.block_size)];
      return head / group * static_cast<size_t>(slots) + static_cast<size_t>(block * p.block_size + at % p.block_size);
    };
    std::vector<double> scores;
    double largest = p.has_sinks ? operands.sink(head) : -std::numeric_limits<double>::infinity();
    for (int64_t at = begin; at < end; ++at) {
      double score = dot_reference(inputs[0].values.data() + row * width, inputs[1].values.data() + place(at) * width, width) * p.scale;
      if (p.softcap > 0) score = p.softcap * std::tanh(score / p.softcap);
      if (p.has_slopes) score += operands.slope(head) * static_cast<double>(at - position);
      if (p.has_mask) score += operands.mask(head, token, static_cast<size_t>(at));
      scores.push_back(score);
      largest = std::max(largest, score);
    }
    const bool sees_nothing = largest == -std::numeric_limits<double>::infinity();
    double sum = p.has_sinks && !sees_nothing ? std::exp(operands.sink(head) - largest) : 0;
    for (double& score : scores) sum += score = sees_nothing ? 0 : std::exp(score - largest);
    double* y = outputs[0].values.data() + row * value_width;
    std::fill_n(y, value_width, 0.0);
    for (int64_t at = begin; at < end && !sees_nothing; ++at) {
      const double weight = scores[static_cast<size_t>(at - begin)] / sum;
      const double* value = inputs[2].values.data() + place(at) * value_width;
      for (size_t i = 0; i < value_width; ++i) y[i] += weight * value[i];
    }
    if (outputs.size() > 1) outputs[1].values[row] = largest + std::log(sum);
  }
}

// Heads and positions may lie anywhere; a row of head_dim elements must be contiguous, which a cache's always is.
bool has_contiguous_rows(const Tensor& cache) { return cache.shape()[2] == 1 || cache.layout().stride(2) == 1; }

// The same from ops that have gradients: scores are materialised.
Tensor attention_from_parts(const Tensor& query, const Tensor& key, const Tensor& value, const SequenceAttention& params) {
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

std::string_view attention_unsupported(DType dtype) { return is_cache_dtype(dtype) ? "" : "a key/value cache is f32, f16, bf16 or q8_0"; }

}  // namespace

// The tape sees its parts.
const OpRule rules::attention = {.defining_operand = 1, .reference = attention_reference, .unsupported = attention_unsupported};

namespace {

void check_cache(const Tensor& query, const Tensor& key, const Tensor& value) {
  const bool fits = query.rank() == 3 && key.rank() == 3 && value.rank() == 3 && key.shape()[0] == value.shape()[0] &&
                    key.shape()[1] == value.shape()[1] && query.shape()[2] == key.shape()[2] && key.shape()[0] > 0 &&
                    query.shape()[1] % key.shape()[0] == 0;
  if (!fits) {
    fail(ErrorCode::shape_mismatch,
         "attention: query {}, key {}, value {}: want [tokens, heads, d], [kv_heads, slots, d] and [kv_heads, slots, d'], heads a multiple "
         "of kv_heads",
         query.describe(), key.describe(), value.describe());
  }
  if (query.dtype() != DType::f32 || key.dtype() != value.dtype() || !is_cache_dtype(key.dtype())) {
    fail(ErrorCode::dtype_mismatch,
         "attention: query {} must be f32, f16 or bf16, key {} and value {} of one dtype: f32, f16, bf16 or q8_0", query.describe(),
         key.describe(), value.describe());
  }
}

void check_plan(const AttentionPlan& plan) {
  const Tensor &starts = plan.starts, &lengths = plan.lengths, &table = plan.table;
  const bool fits = starts.rank() == 1 && lengths.rank() == 1 && table.rank() == 2 && starts.shape()[0] == lengths.shape()[0] + 1 &&
                    table.shape()[0] == lengths.shape()[0];
  if (!fits) {
    fail(ErrorCode::shape_mismatch, "attention: starts {}, lengths {}, table {}: want [sequences + 1], [sequences] and [sequences, blocks]",
         starts.describe(), lengths.describe(), table.describe());
  }
  for (const Tensor* part : {&starts, &lengths, &table}) {
    if (part->dtype() != DType::i32) fail(ErrorCode::dtype_mismatch, "attention: the plan's {} must be i32", part->describe());
  }
}

void check_params(const AttentionParams& params) {
  const bool fits = params.block_size > 0 && params.longest >= 0 && params.window >= 0 && params.chunk >= 0 && params.softcap >= 0;
  if (fits) return;
  fail(ErrorCode::invalid_argument,
       "attention: a block size of {}, a bound of {}, a window of {}, a chunk of {} and a softcap of {}: allowed: 1 or more for the first, "
       "0 or more for the others",
       params.block_size, params.longest, params.window, params.chunk, params.softcap);
}

// Appends a bias where there is one; says whether.
bool add_bias(std::vector<const Tensor*>& inputs, const std::optional<Tensor>& bias, const char* name, const Shape& shape) {
  if (!bias) return false;
  if (bias->dtype() != DType::f32) fail(ErrorCode::dtype_mismatch, "attention: {} {} must be f32", name, bias->describe());
  if (bias->shape() != shape) {
    fail(ErrorCode::shape_mismatch, "attention: {} {} must be {}", name, bias->describe(),
         shape.rank() == 1 ? shape.to_string() : fmt::format("[{}, {}, positions]", shape[0], shape[1]));
  }
  inputs.push_back(&*bias);
  return true;
}

// A query as implementations read it, f32: itself, or `wide`.
const Tensor& widened(const Tensor& query, std::optional<Tensor>& wide) {
  return query.dtype() == DType::f16 || query.dtype() == DType::bf16 ? wide.emplace(query.to_dtype(DType::f32)) : query;
}

AttentionState attend(const Tensor& given, const Tensor& key, const Tensor& value, const AttentionPlan& plan, AttentionParams params,
                      const AttentionBiases& biases, DType dtype, bool with_logarithms) {
  check_assigned(
      "attention",
      {{"query", given}, {"key", key}, {"value", value}, {"starts", plan.starts}, {"lengths", plan.lengths}, {"table", plan.table}});
  std::optional<Tensor> wide;
  const Tensor& query = widened(given, wide);
  check_cache(query, key, value);
  check_plan(plan);
  check_params(params);
  const ContiguousOperand rows(query), keys(key, has_contiguous_rows(key)), values(value, has_contiguous_rows(value));
  const ContiguousOperand starts(plan.starts), lengths(plan.lengths), table(plan.table);
  const AttentionBiases plain{biases.sinks ? std::optional(biases.sinks->contiguous()) : std::nullopt,
                              biases.slopes ? std::optional(biases.slopes->contiguous()) : std::nullopt, biases.mask};
  std::vector<const Tensor*> inputs{rows.get(), keys.get(), values.get(), starts.get(), lengths.get(), table.get()};
  const int64_t tokens = query.shape()[0], heads = query.shape()[1];
  params.has_sinks = add_bias(inputs, plain.sinks, "sinks", {heads});
  params.has_slopes = add_bias(inputs, plain.slopes, "slopes", {heads});
  params.has_mask = add_bias(inputs, plain.mask, "mask", {heads, tokens, biases.mask ? biases.mask->shape().last() : 0});
  const DType written = rounds_results(query.device(), OpId::attention, key.dtype(), dtype) ? dtype : DType::f32;
  AttentionState state{make_result("attention", {tokens, heads, value.shape()[2]}, written, query.device()), {}};
  std::vector<Tensor*> outputs{&state.value};
  if (with_logarithms) {
    state.log_sum_exp = make_result("attention", {tokens, heads}, DType::f32, query.device());
    outputs.push_back(&state.log_sum_exp);
  }
  apply(OpId::attention, &params, bytes_of(params), inputs, outputs);
  if (written != dtype) state.value = state.value.to_dtype(dtype);
  return state;
}

}  // namespace

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionPlan& plan, const AttentionParams& params,
                 const AttentionBiases& biases, DType dtype) {
  return attend(query, key, value, plan, params, biases, dtype, false).value;
}

AttentionState attention_state(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionPlan& plan,
                               const AttentionParams& params, const AttentionBiases& biases) {
  return attend(query, key, value, plan, params, biases, DType::f32, true);
}

Tensor attention(const Tensor& given, const Tensor& key, const Tensor& value, const SequenceAttention& sequence) {
  check_assigned("attention", {{"query", given}, {"key", key}, {"value", value}});
  std::optional<Tensor> wide;
  const Tensor& query = widened(given, wide);
  check_cache(query, key, value);
  const int64_t tokens = query.shape()[0], positions = std::min<int64_t>(key.shape()[1], std::numeric_limits<int32_t>::max());
  if (sequence.past < 0 || tokens > positions || sequence.past > positions - tokens) {
    fail(ErrorCode::shape_mismatch, "attention: query {} and key {} with {} past positions: want past + tokens ≤ positions",
         query.describe(), key.describe(), sequence.past);
  }
  if (query.is_tracked() || key.is_tracked() || value.is_tracked()) return attention_from_parts(query, key, value, sequence);
  const int64_t length = sequence.past + tokens;
  if (tokens == 0) return make_result("attention", {0, query.shape()[1], value.shape()[2]}, DType::f32, query.device());
  // One block holds all positions.
  const std::array<int32_t, 4> numbers{0, static_cast<int32_t>(tokens), static_cast<int32_t>(length), 0};
  const Tensor plan = Tensor::from_span(std::span<const int32_t>(numbers), {4}, query.device());
  const AttentionParams params{.scale = sequence.scale, .block_size = positions, .longest = length, .precise = sequence.precise};
  return attention(query, key, value, {plan.narrow(0, 0, 2), plan.narrow(0, 2, 1), plan.narrow(0, 3, 1).reshape({1, 1})}, params);
}

}  // namespace wick
