#include "wick/tensor/ops/recurrent_step.h"

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/contiguous_operand.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/op_rule.h"

namespace wick {
namespace {

// What one head has for its state [k, v].
struct RecurrentHead {
  const double *query, *key, *value, *decay;
  size_t decay_step;  // from one row's decay to the next one's
  double rate;
};

// Changes a state and gives what is read of it.
std::vector<double> step_of_head(const RecurrentHead& head, bool delta, size_t keys, size_t values, double* state) {
  std::vector<double> added(head.value, head.value + values), result(values);
  for (size_t i = 0; i < keys; ++i) {
    for (size_t j = 0; j < values; ++j) {
      double& number = state[i * values + j];
      number *= head.decay[i * head.decay_step];
      if (delta) added[j] -= number * head.key[i];
    }
  }
  for (size_t i = 0; i < keys; ++i) {
    for (size_t j = 0; j < values; ++j) {
      double& number = state[i * values + j];
      number += head.key[i] * head.rate * added[j];
      result[j] += number * head.query[i];
    }
  }
  return result;
}

void recurrent_step_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const auto [delta, interleaved] = *static_cast<const RecurrentStepParams*>(params);
  const ReferenceTensor &query = inputs[0], &key = inputs[1], &value = inputs[2], &decay = inputs[3], &rate = inputs[4];
  const auto sequences = inputs[5].values.size(), heads = static_cast<size_t>(value.shape[1]),
             positions = static_cast<size_t>(value.shape[0]) / sequences, values = static_cast<size_t>(value.shape[2]),
             key_heads = static_cast<size_t>(key.shape[1]), keys = static_cast<size_t>(key.shape[2]),
             decays = static_cast<size_t>(decay.shape[2]), numbers = keys * values;
  std::vector<double>& states = outputs[0].values;
  for (size_t sequence = 0; sequence < sequences; ++sequence) {
    const auto slot = [&](const ReferenceTensor& slots) { return static_cast<size_t>(slots.values[sequence]) * heads * numbers; };
    for (size_t head = 0; head < heads; ++head) {
      const size_t key_head = interleaved ? head % key_heads : head / (heads / key_heads);
      const auto from = states.begin() + static_cast<std::ptrdiff_t>(slot(inputs[5]) + head * numbers);
      std::vector<double> state(from, from + static_cast<std::ptrdiff_t>(numbers));
      for (size_t position = 0; position < positions; ++position) {
        const size_t row = (sequence * positions + position) * heads + head;
        const size_t key_row = ((sequence * positions + position) * key_heads + key_head) * keys;
        const RecurrentHead numbers_of{.query = query.values.data() + key_row,
                                       .key = key.values.data() + key_row,
                                       .value = value.values.data() + row * values,
                                       .decay = decay.values.data() + row * decays,
                                       .decay_step = decays == 1 ? size_t{0} : size_t{1},
                                       .rate = rate.values[row]};
        const std::vector<double> result = step_of_head(numbers_of, delta, keys, values, state.data());
        std::copy(result.begin(), result.end(), outputs[1].values.begin() + static_cast<std::ptrdiff_t>(row * values));
      }
      std::copy(state.begin(), state.end(), states.begin() + static_cast<std::ptrdiff_t>(slot(inputs[6]) + head * numbers));
    }
  }
}

std::string_view states_unsupported(DType dtype) { return dtype == DType::f32 ? "" : "states are f32"; }

void check_rows(const RecurrentRows& rows) {
  const auto& [query, key, value, decay, rate] = rows;
  const bool ranks = query.rank() == 3 && key.rank() == 3 && value.rank() == 3 && decay.rank() == 3 && rate.rank() == 2;
  const bool fits = ranks && query.shape() == key.shape() && key.dim(0) == value.dim(0) && key.dim(1) > 0 &&
                    value.dim(1) % key.dim(1) == 0 && decay.dim(0) == value.dim(0) && decay.dim(1) == value.dim(1) &&
                    (decay.dim(2) == 1 || decay.dim(2) == key.dim(2)) && rate.shape() == Shape{value.dim(0), value.dim(1)};
  if (!fits) {
    fail(
        ErrorCode::shape_mismatch,
        "recurrent_step: query {}, key {}, value {}, decay {}, rate {}: want twice [rows, key_heads, k], [rows, heads, v] of a multiple of "
        "key_heads, [rows, heads, 1 or k] and [rows, heads]",
        query.describe(), key.describe(), value.describe(), decay.describe(), rate.describe());
  }
  for (const Tensor* row : {&query, &key, &value, &decay, &rate}) {
    if (row->dtype() == DType::f32) continue;
    fail(ErrorCode::dtype_mismatch, "recurrent_step: query {}, key {}, value {}, decay {} and rate {} must be f32", query.describe(),
         key.describe(), value.describe(), decay.describe(), rate.describe());
  }
}

}  // namespace

const OpRule rules::recurrent_step = {
    .defining_operand = kFirstOutput, .reference = recurrent_step_reference, .unsupported = states_unsupported, .updates = true};

Tensor recurrent_step(const RecurrentRows& rows, const StateSlots& slots, const Tensor& states, RecurrentStepParams params) {
  check_assigned("recurrent_step", {{"query", rows.query},
                                    {"key", rows.key},
                                    {"value", rows.value},
                                    {"decay", rows.decay},
                                    {"rate", rows.rate},
                                    {"from", slots.from},
                                    {"to", slots.to},
                                    {"states", states}});
  check_dtype(OpId::recurrent_step, "recurrent_step", states);
  check_rows(rows);
  const Shape& shape = rows.value.shape();
  check_states("recurrent_step", states, slots, shape[0], "heads · k · v", shape[1] * rows.key.dim(2) * shape[2]);
  const ContiguousOperand query(rows.query), key(rows.key), value(rows.value), decay(rows.decay), rate(rows.rate), from(slots.from),
      to(slots.to);
  Tensor states_out = states, result = make_result("recurrent_step", shape, DType::f32, rows.value.device());
  if (result.shape().elements() == 0) return result;
  apply(OpId::recurrent_step, params, {query.get(), key.get(), value.get(), decay.get(), rate.get(), from.get(), to.get()},
        {&states_out, &result});
  return result;
}

}  // namespace wick
