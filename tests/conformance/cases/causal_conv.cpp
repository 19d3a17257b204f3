// causal_conv: kernels of several lengths, sequences shorter and longer than what is kept, states that are read twice or stay in place.
#include "wick/tensor/ops/causal_conv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "conformance/case.h"
#include "conformance/cases/state_slots.h"

namespace wick::conformance {
namespace {

// As many rounded products and sums as the kernel has taps; silu's slope is at most 1.1, and its own error is unary's.
std::vector<double> causal_conv_bound(const ReferenceTensor& magnitudes, int64_t kernel, bool silu) {
  std::vector<double> bounds = magnitudes.values;
  for (double& bound : bounds) bound *= static_cast<double>(2 * kernel + (silu ? 8 : 0)) * roundoff(DType::f32);
  return bounds;
}

struct CausalConvCase {
  int64_t sequences, positions, kernel, width;
  bool silu = false;
};

void add(CaseList& list, const CausalConvCase& c, View view = View::contiguous) {
  const std::string name =
      fmt::format("{} × {} × {}, {} taps{}/{}", c.sequences, c.positions, c.width, c.kernel, c.silu ? ", silu" : "", to_string(view));
  list.add(OpId::causal_conv, DType::f32, name, [=](Trial& trial) {
    const Tensor x = trial.input({c.sequences * c.positions, c.width}, DType::f32, view, {-4, 4});
    const ColumnTaps taps{trial.input({c.kernel, c.width}, DType::f32, view, {-1, 1}), trial.input({c.width}, DType::f32)};
    const StateSlots slots = slot_numbers(c.sequences).on(trial.device());
    // A range of the columns of a larger tensor.
    const int64_t numbers = (c.kernel - 1) * c.width, before = 3;
    const Tensor all = trial.input({2 * c.sequences + 1, before + numbers + 2}, DType::f32), states = all.narrow(1, before, numbers);
    const CausalConvParams params{.silu = c.silu};
    if (!trial.has_values()) {
      trial.expect_true(causal_conv(x, taps, slots, states, params).shape() == x.shape(), "a result of another shape");
      return;
    }
    const ReferenceTensor old = trial.values_of(all);
    const auto empty = [&] { return ReferenceTensor{x.shape(), std::vector<double>(static_cast<size_t>(x.elements())), DType::f32}; };
    std::vector<ReferenceTensor> expected{trial.values_of(states), empty()}, magnitudes = expected, inputs;
    for (double& number : magnitudes[0].values) number = std::fabs(number);
    const Tensor result = causal_conv(x, taps, slots, states, params);
    for (const Tensor* operand : {&x, &taps.weight, &taps.bias, &slots.from, &slots.to}) inputs.push_back(trial.values_of(*operand));
    if (result.elements() > 0) {
      rule(OpId::causal_conv).reference(&params, inputs, expected);
      for (size_t input = 0; input < 3; ++input) {
        for (double& number : inputs[input].values) number = std::fabs(number);
      }
      const CausalConvParams plain;
      rule(OpId::causal_conv).reference(&plain, inputs, magnitudes);
    }
    trial.expect_values(expected[1], result, causal_conv_bound(magnitudes[1], c.kernel, c.silu));
    // States move, and what was not written is what it was: to the bit.
    trial.expect_values(expected[0], states, std::vector<double>(expected[0].values.size()));
    for (const auto& [first, count] : {std::pair<int64_t, int64_t>{0, before}, {before + numbers, 2}}) {
      const Tensor beside = all.narrow(1, first, count);
      ReferenceTensor was{beside.shape(), {}, DType::f32};
      for (int64_t row = 0; row < all.dim(0); ++row) {
        for (int64_t i = 0; i < count; ++i) was.values.push_back(old.values[static_cast<size_t>(row * all.dim(1) + first + i)]);
      }
      trial.expect_values(was, beside, std::vector<double>(was.values.size()));
    }
  });
}

}  // namespace

void add_causal_conv_cases(CaseList& list) {
  for (const bool silu : {false, true}) {
    for (const int64_t kernel : {2, 3, 4}) {
      for (const int64_t positions : {1, 2, 3, 16, 17, 70}) add(list, {2, positions, kernel, 37, silu});
    }
    add(list, {5, 1, 4, 600, silu});
    add(list, {1, 40, 4, 1100, silu});
    add(list, {1, 25, 20, 5, silu});
    add(list, {0, 1, 4, 8, silu});
    add(list, {3, 4, 4, 1, silu});
    for (const View view : views_of({12, 16})) add(list, {3, 4, 4, 16, silu}, view);
  }
}

}  // namespace wick::conformance
