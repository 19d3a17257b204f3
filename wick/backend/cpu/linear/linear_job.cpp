#include "wick/backend/cpu/linear/linear_job.h"

#include <cmath>

namespace wick::cpu {
namespace {

// rms_norm of all rows of the job's activations.
const float* normalized(const LinearJob& job, ScratchFrame& frame, const float* weight, double epsilon) {
  CpuRuntime& runtime = *job.runtime;
  const float* x = job.x;
  const int64_t rows = job.rows, k = job.k;
  const RowLoops<float>& loops = runtime.kernels().rows<float>();
  auto* out = frame.take<float>(static_cast<size_t>(rows * k));
  constexpr int64_t kElementsOfPart = 32768;
  runtime.threads().parallel_for(rows, std::max<int64_t>(1, kElementsOfPart / k), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const double squares = loops.sum_of_squares(x + row * k, 0, static_cast<size_t>(k));
      const auto factor = static_cast<float>(1 / std::sqrt(squares / static_cast<double>(k) + epsilon));
      loops.normalize(x + row * k, {.factor = factor, .weight = weight}, out + row * k, static_cast<size_t>(k));
    }
  });
  return out;
}

}  // namespace

LinearJob make_job(const OpCall& call, int64_t unit, ScratchFrame& frame) {
  const LinearParams& params = call.parameters<LinearParams>();
  const Layout& x = *call.inputs[0].layout;
  const int64_t k = x.shape().last();
  const int64_t rows = x.elements() / k;
  LinearJob job{&runtime_of(call), data_of<const float>(call.inputs[0]), rows, k, unit, 0, rows, unit, 0, {}, nullptr, nullptr,
                params.gate};
  const size_t weights = call.op == OpId::gated_linear ? 2 : call.outputs.size();
  const size_t biases = 1 + weights + (params.has_norm ? 1 : 0);
  const auto bias = [&](size_t weight) { return params.has_bias ? data_of<const float>(call.inputs[biases + weight]) : nullptr; };
  for (size_t index = 0; index < call.outputs.size(); ++index) {
    const Operand& weight = call.inputs[index + 1];
    const int64_t outputs = weight.layout->shape()[0];
    job.products[job.count++] = {&weight, outputs, job.units, data_of<float>(call.outputs[index]), bias(index)};
    job.units += (outputs + unit - 1) / unit;
  }
  if (call.op == OpId::gated_linear) job.up_bias = bias(1);
  if (params.has_residual) job.residual = data_of<const float>(call.inputs.back());
  if (params.has_norm) {
    job.x = normalized(job, frame, data_of<const float>(call.inputs[1 + weights]), static_cast<double>(params.epsilon));
  }
  return job;
}

void block_tokens(LinearJob& job, int64_t element) {
  // A second-level cache of 1 MiB keeps a block of activations beside the weights that stream through it.
  constexpr int64_t kActivationBytes = 512 * 1024;
  job.block = std::max<int64_t>(16, kActivationBytes / (job.k * element) / 16 * 16);
}

}  // namespace wick::cpu
