// recurrent_step: decays of a state and of its rows, the delta rule, heads that share keys, states that are read twice or stay in place.
#include "wick/tensor/ops/recurrent_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "conformance/case.h"
#include "conformance/cases/state_slots.h"

namespace wick::conformance {
namespace {

struct RecurrentCase {
  int64_t sequences, key_heads, heads, keys, values;
  RecurrentStepParams params;
  bool by_row = false;  // each row of a state decays by itself
  int64_t positions = 1;
};

// The same numbers without their signs, so that nothing is cancelled: the delta rule subtracts from the value, which is then below 0, and
// the rate makes it positive again.
std::vector<ReferenceTensor> without_signs(const std::vector<ReferenceTensor>& inputs) {
  std::vector<ReferenceTensor> magnitudes = inputs;
  for (size_t input = 0; input < 5; ++input) {
    for (double& number : magnitudes[input].values) number = input == 2 || input == 4 ? -std::fabs(number) : std::fabs(number);
  }
  return magnitudes;
}

// Two sums of `keys` products in a row at each position, of which one is subtracted from a value: see product_bound.
std::vector<double> recurrent_bound(const ReferenceTensor& magnitudes, int64_t keys, int64_t positions) {
  std::vector<double> bounds = magnitudes.values;
  for (double& bound : bounds) {
    bound *= static_cast<double>(positions) * (8 + 4 * std::sqrt(static_cast<double>(keys))) * roundoff(DType::f32);
  }
  return bounds;
}

void add(CaseList& list, const RecurrentCase& c, View view = View::contiguous) {
  const std::string name = fmt::format("{} × {} × [{}+{}, {}, {}]/{}{}/{}/{}", c.sequences, c.positions, c.key_heads, c.heads, c.keys,
                                       c.values, c.params.delta ? "delta" : "plain", c.params.interleaved ? ", interleaved" : "",
                                       c.by_row ? "decay of rows" : "decay of states", to_string(view));
  list.add(OpId::recurrent_step, DType::f32, name, [=](Trial& trial) {
    const auto input = [&](const Shape& shape, Range range) { return trial.input(shape, DType::f32, view, range); };
    const int64_t all_rows = c.sequences * c.positions;
    const RecurrentRows rows{.query = input({all_rows, c.key_heads, c.keys}, {-1, 1}),
                             .key = input({all_rows, c.key_heads, c.keys}, {-1, 1}),
                             .value = input({all_rows, c.heads, c.values}, {-4, 4}),
                             .decay = input({all_rows, c.heads, c.by_row ? c.keys : 1}, {0, 1}),
                             .rate = trial.input({all_rows, c.heads}, DType::f32, View::contiguous, {0, 1})};
    const SlotNumbers places = slot_numbers(c.sequences);
    const StateSlots slots = places.on(trial.device());
    // A range of the columns of a larger tensor.
    const int64_t numbers = c.heads * c.keys * c.values, before = 3;
    const Tensor all = trial.input({2 * c.sequences + 1, before + numbers + 2}, DType::f32), states = all.narrow(1, before, numbers);
    std::vector<ReferenceTensor> expected(2), magnitudes(2), others;
    const auto neighbours = [&] { return std::array{all.narrow(1, 0, before), all.narrow(1, before + numbers, 2)}; };
    if (trial.has_values()) {
      expected = {trial.values_of(states),
                  {rows.value.shape(), std::vector<double>(static_cast<size_t>(rows.value.elements())), DType::f32}};
      magnitudes = expected;
      for (double& number : magnitudes[0].values) number = std::fabs(number);
      for (const Tensor& other : neighbours()) others.push_back(trial.values_of(other));
    }
    const Tensor result = recurrent_step(rows, slots, states, c.params);
    trial.expect_true(result.shape() == rows.value.shape(), "a result of another shape");
    if (!trial.has_values()) return;
    std::vector<ReferenceTensor> inputs;
    for (const Tensor* operand : {&rows.query, &rows.key, &rows.value, &rows.decay, &rows.rate, &slots.from, &slots.to}) {
      inputs.push_back(trial.values_of(*operand));
    }
    if (result.elements() > 0) {
      rule(OpId::recurrent_step).reference(&c.params, inputs, expected);
      rule(OpId::recurrent_step).reference(&c.params, without_signs(inputs), magnitudes);
    }
    std::vector<double> allowed = recurrent_bound(magnitudes[0], c.keys, c.positions);
    // What was not written is what it was, to the bit.
    for (size_t i = 0; i < allowed.size(); ++i) {
      const auto slot = static_cast<int32_t>(i / static_cast<size_t>(numbers));
      if (std::find(places.to.begin(), places.to.end(), slot) == places.to.end()) allowed[i] = 0;
    }
    trial.expect_values(expected[1], result, recurrent_bound(magnitudes[1], c.keys, c.positions));
    trial.expect_values(expected[0], states, allowed);
    for (size_t i = 0; i < others.size(); ++i) {
      trial.expect_values(others[i], neighbours()[i], std::vector<double>(others[i].values.size()));
    }
  });
}

}  // namespace

void add_recurrent_step_cases(CaseList& list) {
  for (const bool delta : {false, true}) {
    for (const bool by_row : {false, true}) {
      // A device builds a kernel for each number of keys and for some numbers of values.
      for (const int64_t values : {7, 16, 33, 64, 128}) add(list, {2, 1, 2, 128, values, {delta, false}, by_row});
      for (const auto& [keys, values] : {std::pair<int64_t, int64_t>{1, 1}, {1, 64}, {3, 7}, {16, 1}, {16, 64}, {64, 64}, {64, 33}}) {
        add(list, {2, 1, 2, keys, values, {delta, false}, by_row});
      }
      add(list, {1, 4, 4, 128, 128, {delta, false}, by_row});
      add(list, {5, 2, 6, 20, 24, {delta, true}, by_row});
      add(list, {5, 2, 6, 20, 24, {delta, false}, by_row});
      add(list, {1, 3, 3, 256, 200, {delta, false}, by_row});
      add(list, {0, 2, 4, 16, 16, {delta, false}, by_row});
      add(list, {2, 1, 2, 64, 33, {delta, false}, by_row, 2});
      add(list, {1, 2, 4, 128, 64, {delta, false}, by_row, 7});
      add(list, {3, 2, 6, 20, 24, {delta, true}, by_row, 4});
      add(list, {2, 1, 5, 16, 1, {delta, false}, by_row, 9});
      add(list, {1, 1, 1, 300, 40, {delta, false}, by_row, 3});
      for (const View view : views_of({3, 2, 16})) add(list, {3, 2, 4, 16, 16, {delta, true}, by_row}, view);
    }
  }
  add(list, {3, 1, 16, 64, 64, {.delta = false, .interleaved = false}});
  add(list, {2, 8, 32, 64, 64, {.delta = true, .interleaved = true}});
}

}  // namespace wick::conformance
