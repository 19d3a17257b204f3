#include "wick/kernels/causal_conv.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "wick/kernels/group_options.h"
#include "wick/kernels/math.h"
#include "wick/kernels/strided.h"

namespace wick::kernels {

using namespace ir;

uint32_t causal_conv_rows(uint32_t kernel) { return std::max(16U, kernel); }

ir::Kernel causal_conv(CausalConvParams params, uint32_t kernel, const DeviceCaps& caps) {
  KernelBuilder k(fmt::format("causal_conv_{}{}", kernel, params.silu ? "_silu" : ""), {.group_size = group_options(caps, 256).group_size});
  const Memory x = k.buffer("x", Element::f32), weight = k.buffer("weight", Element::f32), bias = k.buffer("bias", Element::f32),
               places = k.buffer("places", Element::u32);
  const Memory states = k.output("states", Element::f32), y = k.output("y", Element::f32);
  const auto parameter = [&](const char* name) { return k.parameter(name, Type::u32); };
  const Value lanes = parameter("lanes"), positions = parameter("positions"), width = parameter("width"), x_stride = parameter("x_stride"),
              x_first = parameter("x_first"), weight_first = parameter("weight_first"), bias_first = parameter("bias_first"),
              from_first = parameter("from_first"), to_first = parameter("to_first"), states_first = parameter("states_first"),
              slot_stride = parameter("slot_stride"), y_first = parameter("y_first");
  const uint32_t rows = causal_conv_rows(kernel), before = kernel - 1;
  const Value lane = global_lane(k);
  k.when(lane < lanes, [&] {
    const Value column = lane % width, part = lane / width, parts = (positions + (rows - 1)) / rows;
    const Value sequence = part / parts, first = part % parts * rows, own = sequence * positions;
    const auto state_of = [&](const Value& slots) { return states_first + places[slots + sequence] * slot_stride + column; };
    const Value from = state_of(from_first), to = state_of(to_first);
    // Of the rows kept and the sequence's, one after the other.
    const auto number = [&](const Value& index) {
      const Value is_own = index >= before;
      const Value kept = states.load_if(!is_own, from + index * width, 0);
      return select(is_own, x.load_if(is_own, x_first + (own + index - before) * x_stride + column, 0), kept);
    };
    std::vector<Value> taps;
    for (uint32_t tap = 0; tap < kernel; ++tap) taps.push_back(weight[weight_first + tap * width + column]);
    const Value added = bias[bias_first + column];
    std::vector<Variable> seen;
    for (uint32_t i = 0; i < before; ++i) seen.push_back(k.variable(number(first + i)));
    k.loop(first, min(first + rows, positions), 1, [&](const Value& position) {
      const Value last = x[x_first + (own + position) * x_stride + column];
      Value sum = added;
      for (uint32_t tap = 0; tap < before; ++tap) sum = sum + seen[tap] * taps[tap];
      sum = sum + last * taps[before];
      y[y_first + (own + position) * width + column] = params.silu ? silu(sum) : sum;
      for (uint32_t i = 0; i + 1 < before; ++i) seen[i] = seen[i + 1];
      seen[before - 1] = last;
    });
    // The lanes of a sequence's first rows write what is kept: no other reads what was kept before, as those rows are more than the taps.
    k.when(first == 0U, [&] {
      std::vector<Value> kept;
      for (uint32_t i = 0; i < before; ++i) kept.push_back(number(positions + i));
      for (uint32_t i = 0; i < before; ++i) states[to + i * width] = kept[i];
    });
  });
  return k.finish();
}

}  // namespace wick::kernels
