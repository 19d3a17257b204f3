#include "wick/backend/cpu/linear_job.h"

namespace wick::cpu {

LinearJob make_job(const OpCall& call, int64_t unit) {
  const Layout& x = *call.inputs[0].layout;
  const int64_t k = x.shape().last();
  const int64_t rows = x.elements() / k;
  LinearJob job{&runtime_of(call), data_of<const float>(call.inputs[0]), rows, k, unit, 0, rows, unit, 0, {}};
  for (size_t index = 0; index < call.outputs.size(); ++index) {
    const Operand& weight = call.inputs[index + 1];
    const int64_t outputs = weight.layout->shape()[0];
    job.products[job.count++] = {&weight, outputs, job.units, data_of<float>(call.outputs[index])};
    job.units += (outputs + unit - 1) / unit;
  }
  return job;
}

void block_tokens(LinearJob& job, int64_t element) {
  // A second-level cache of 1 MiB keeps a block of activations beside the weights that stream through it.
  constexpr int64_t kActivationBytes = 512 * 1024;
  job.block = std::max<int64_t>(16, kActivationBytes / (job.k * element) / 16 * 16);
}

}  // namespace wick::cpu
