// causal_conv: columns of the sequences are shared out to the threads.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "wick/backend/cpu/attention/state_slots.h"
#include "wick/backend/cpu/cpu_runtime.h"
#include "wick/backend/cpu/op_table.h"

namespace wick::cpu {
namespace {

// Columns at once, whose taps stay in the innermost cache.
constexpr int64_t kConvColumns = 512;

}  // namespace

void causal_conv_f32(const OpCall& call) {
  const Operand &x = call.inputs[0], &states = call.outputs[0];
  check_slots(call, call.inputs[3], call.inputs[4], states);
  const int64_t width = x.layout->shape()[1], kernel = call.inputs[1].layout->shape()[0], before = kernel - 1;
  const int64_t sequences = call.inputs[3].layout->shape()[0], positions = x.layout->shape()[0] / sequences;
  const int64_t parts = (width + kConvColumns - 1) / kConvColumns, slot_stride = states.layout->stride(0);
  const auto* from = data_of<const int32_t>(call.inputs[3]);
  const auto* to = data_of<const int32_t>(call.inputs[4]);
  const auto conv_row = runtime_of(call).kernels().recurrent.conv_row;
  const auto run = [&](int64_t index) {
    const int64_t sequence = index / parts, first = index % parts * kConvColumns, columns = std::min(kConvColumns, width - first);
    const auto state = [&](int64_t slot, int64_t row) { return data_of<float>(states) + slot * slot_stride + row * width + first; };
    // Of the rows kept and the sequence's, one after the other.
    std::vector<float> kept(static_cast<size_t>(before * columns));
    for (int64_t row = 0; row < before; ++row) std::copy_n(state(from[sequence], row), columns, &kept[static_cast<size_t>(row * columns)]);
    const auto numbers = [&](int64_t row) -> const float* {
      if (row < before) return &kept[static_cast<size_t>(row * columns)];
      return data_of<const float>(x) + (sequence * positions + row - before) * x.layout->stride(0) + first;
    };
    std::vector<const float*> seen(static_cast<size_t>(kernel));
    ConvRow row{.seen = seen.data(),
                .weight = data_of<const float>(call.inputs[1]) + first,
                .weight_stride = width,
                .bias = data_of<const float>(call.inputs[2]) + first,
                .result = data_of<float>(call.outputs[1]) + sequence * positions * width + first,
                .silu = call.parameters<CausalConvParams>().silu};
    for (int64_t position = 0; position < positions; ++position, row.result += width) {
      for (int64_t tap = 0; tap < kernel; ++tap) seen[static_cast<size_t>(tap)] = numbers(position + tap);
      conv_row(row, kernel, columns);
    }
    for (int64_t row = 0; row < before; ++row) std::copy_n(numbers(positions + row), columns, state(to[sequence], row));
  };
  const auto run_share = [&](Scratch& /*scratch*/, int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) run(index);
  };
  const int64_t count = sequences * parts;
  share_equally(runtime_of(call), count, count > 1 && x.layout->elements() >= 2 * kElementsPerThread, run_share);
}

}  // namespace wick::cpu
