// Ops along the last dimension, and rope: one row at a time, rows split over the threads.
#include <algorithm>
#include <cmath>

#include "backend/cpu/cpu_runtime.h"
#include "backend/cpu/op_table.h"

namespace wick::cpu {
namespace {

// Rows of one thread's share are worth a fork only from about this many elements on.
constexpr int64_t kElementsPerThread = 16384;

// Calls body(row of x in f32, row number) for each row; a strided row is gathered first.
template <class Body>
void for_each_row(const OpCall& call, Body&& body) {
  const Operand& x = call.inputs[0];
  const Layout& layout = *x.layout;
  const int last = layout.rank() - 1;
  const int64_t length = layout.shape().last();
  const int64_t rows = layout.elements() / length;
  const int64_t stride = last < 0 ? 1 : layout.stride(last);
  CpuRuntime& runtime = runtime_of(call);
  const auto* base = reinterpret_cast<const float*>(x.buffer->host_data());
  if (layout.is_contiguous()) {
    base += layout.offset();
    runtime.threads().parallel_for(rows, std::max<int64_t>(1, kElementsPerThread / length), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) body(base + row * length, row);
    });
    return;
  }
  auto* gathered = runtime.scratch(0).get<float>(0, static_cast<size_t>(length));
  int64_t row = 0;
  for_each_offset(last < 0 ? layout : layout.narrow(last, 0, 1), [&](int64_t offset) {
    for (int64_t i = 0; i < length; ++i) gathered[i] = base[offset + i * stride];
    body(gathered, row++);
  });
}

}  // namespace

void softmax_f32(const OpCall& call) {
  auto* out = data_of<float>(call.outputs[0]);
  const int64_t length = call.inputs[0].layout->shape().last();
  const SimdKernels& kernels = runtime_of(call).kernels();
  for_each_row(call, [&](const float* x, int64_t row) { kernels.softmax(x, out + row * length, static_cast<size_t>(length)); });
}

void rms_norm_f32(const OpCall& call) {
  const float epsilon = call.parameters<RmsNormParams>().epsilon;
  const int64_t length = call.inputs[0].layout->shape().last();
  CpuRuntime& runtime = runtime_of(call);
  const auto* weights = data_of<const float>(call.inputs[1]);
  auto* out = data_of<float>(call.outputs[0]);
  for_each_row(call, [&](const float* x, int64_t row) {
    runtime.kernels().rms_norm(x, weights, epsilon, out + row * length, static_cast<size_t>(length));
  });
}

void rope_f32(const OpCall& call) {
  const RopeStyle style = call.parameters<RopeParams>().style;
  const Operand& x = call.inputs[0];
  const Operand& table = call.inputs[1];
  const Shape& shape = x.layout->shape();
  const int64_t heads = shape[1];
  const int64_t head_dim = shape[2];
  const int64_t pairs = table.layout->shape()[1];
  const int64_t first_step = style == RopeStyle::interleaved ? 2 : 1;
  const int64_t second_offset = style == RopeStyle::interleaved ? 1 : pairs;
  auto* out = data_of<float>(call.outputs[0]);
  runtime_of(call).threads().parallel_for(
      shape[0], std::max<int64_t>(1, kElementsPerThread / (heads * head_dim)), [&](int64_t begin, int64_t end) {
        for (int64_t token = begin; token < end; ++token) {
          const float* angles = data_of<const float>(table) + token * table.layout->stride(0);
          for (int64_t head = 0; head < heads; ++head) {
            const float* source = data_of<const float>(x) + token * x.layout->stride(0) + head * x.layout->stride(1);
            float* target = out + (token * heads + head) * head_dim;
            const int64_t step = x.layout->stride(2);
            for (int64_t pair = 0; pair < pairs; ++pair) {
              const int64_t first = pair * first_step;
              const int64_t second = first + second_offset;
              const float cosine = angles[pair * table.layout->stride(1)];
              const float sine = angles[pair * table.layout->stride(1) + table.layout->stride(2)];
              const float a = source[first * step];
              const float b = source[second * step];
              target[first] = a * cosine - b * sine;
              target[second] = a * sine + b * cosine;
            }
            for (int64_t i = 2 * pairs; i < head_dim; ++i) target[i] = source[i * step];
          }
        }
      });
}

}  // namespace wick::cpu
