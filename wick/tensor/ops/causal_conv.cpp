#include "wick/tensor/ops/causal_conv.h"

#include <algorithm>
#include <cmath>
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

void causal_conv_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const bool silu = static_cast<const CausalConvParams*>(params)->silu;
  const ReferenceTensor &x = inputs[0], &weight = inputs[1], &bias = inputs[2];
  const auto width = static_cast<size_t>(x.shape[1]), kernel = static_cast<size_t>(weight.shape[0]), kept = (kernel - 1) * width;
  const size_t sequences = inputs[3].values.size(), numbers = static_cast<size_t>(x.shape[0]) / sequences * width;
  std::vector<double>& states = outputs[0].values;
  for (size_t sequence = 0; sequence < sequences; ++sequence) {
    const auto slot = [&](const ReferenceTensor& slots) {
      return static_cast<ptrdiff_t>(static_cast<size_t>(slots.values[sequence]) * kept);
    };
    // The rows before, and the sequence's.
    const auto before = states.begin() + slot(inputs[3]);
    const auto own = x.values.begin() + static_cast<ptrdiff_t>(sequence * numbers);
    std::vector<double> all(before, before + static_cast<ptrdiff_t>(kept));
    all.insert(all.end(), own, own + static_cast<ptrdiff_t>(numbers));
    for (size_t i = 0; i < numbers; ++i) {
      double sum = bias.values[i % width];
      for (size_t tap = 0; tap < kernel; ++tap) sum += weight.values[tap * width + i % width] * all[i + tap * width];
      outputs[1].values[sequence * numbers + i] = silu ? sum / (1 + std::exp(-sum)) : sum;
    }
    std::copy(all.end() - static_cast<ptrdiff_t>(kept), all.end(), states.begin() + slot(inputs[4]));
  }
}

std::string_view states_unsupported(DType dtype) { return dtype == DType::f32 ? "" : "states are f32"; }

void check_operands(const Tensor& x, const ColumnTaps& taps) {
  const auto& [weight, bias] = taps;
  if (x.rank() != 2 || weight.rank() != 2 || weight.dim(0) < 2 || weight.dim(1) != x.dim(1) || bias.shape() != Shape{x.dim(1)}) {
    fail(ErrorCode::shape_mismatch,
         "causal_conv: x {}, weight {}, bias {}: want [rows, width], [kernel, width] with kernel > 1, and [width]", x.describe(),
         weight.describe(), bias.describe());
  }
  for (const Tensor* operand : {&x, &weight, &bias}) {
    if (operand->dtype() == DType::f32) continue;
    fail(ErrorCode::dtype_mismatch, "causal_conv: x {}, weight {} and bias {} must be f32", x.describe(), weight.describe(),
         bias.describe());
  }
}

}  // namespace

const OpRule rules::causal_conv = {
    .defining_operand = kFirstOutput, .reference = causal_conv_reference, .unsupported = states_unsupported, .updates = true};

Tensor causal_conv(const Tensor& x, const ColumnTaps& taps, const StateSlots& slots, const Tensor& states, CausalConvParams params) {
  check_assigned("causal_conv",
                 {{"x", x}, {"weight", taps.weight}, {"bias", taps.bias}, {"from", slots.from}, {"to", slots.to}, {"states", states}});
  check_dtype(OpId::causal_conv, "causal_conv", states);
  check_operands(x, taps);
  check_states("causal_conv", states, slots, x.dim(0), "(kernel - 1) · width", (taps.weight.dim(0) - 1) * x.dim(1));
  // Columns of a larger tensor stay where they are.
  const bool has_rows = x.dim(1) <= 1 || (x.layout().stride(1) == 1 && x.layout().stride(0) >= 0);
  const ContiguousOperand rows(x, has_rows), weight(taps.weight), bias(taps.bias), from(slots.from), to(slots.to);
  Tensor states_out = states, result = make_result("causal_conv", x.shape(), DType::f32, x.device());
  if (result.shape().elements() == 0) return result;
  apply(OpId::causal_conv, params, {rows.get(), weight.get(), bias.get(), from.get(), to.get()}, {&states_out, &result});
  return result;
}

}  // namespace wick
