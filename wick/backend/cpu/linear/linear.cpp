// linear and gated_linear: by tiles where that is possible and allowed (linear_tiles.cpp), else the weights are widened to f32 a few rows
// at a time and multiplied in f32.
#include "wick/backend/cpu/linear/linear_job.h"
#include "wick/backend/cpu/op_table.h"
#include "wick/backend/cpu/weights/unpack.h"

namespace wick::cpu {
namespace {

// Rows [first, first + count) of a plain weight as f32: in place if it is f32 already, else widened into scratch.
MatrixView<const float> widen_rows(const LinearJob& job, ScratchFrame& frame, const Operand& weight, int64_t first, int64_t count) {
  const Layout& layout = *weight.layout;
  const bool quantized = is_quantized(weight.dtype);
  if (weight.dtype == DType::f32 && layout.stride(1) == 1)
    return {data_of<const float>(weight) + first * layout.stride(0), layout.stride(0), count, job.k};
  auto* rows = frame.take<float>(static_cast<size_t>(kPanelRows * job.k));
  const int64_t element = quantized ? 0 : info(weight.dtype).block_bytes;
  for (int64_t row = 0; row < count; ++row) {
    const std::span<float> target(rows + row * job.k, static_cast<size_t>(job.k));
    const std::byte* base = weight.buffer->host_data();
    if (quantized) {
      unpack_rows(job.runtime->kernels(), weight.dtype, base + storage_bytes(weight.dtype, layout.offset() + (first + row) * job.k),
                  target);
      continue;
    }
    const std::byte* source = base + (layout.offset() + (first + row) * layout.stride(0)) * element;
    if (layout.stride(1) == 1) {
      unpack_rows(job.runtime->kernels(), weight.dtype, source, target);
      continue;
    }
    for (int64_t i = 0; i < job.k; ++i) {
      unpack_rows(job.runtime->kernels(), weight.dtype, source + i * layout.stride(1) * element, target.subspan(static_cast<size_t>(i), 1));
    }
  }
  return {rows, job.k, count, job.k};
}

// Row `first` of a float weight whose rows are contiguous; nullptr otherwise.
template <class T>
const T* contiguous_row(const Operand& weight, DType dtype, int64_t first) {
  if (weight.dtype != dtype || weight.layout->stride(1) != 1) return nullptr;
  return data_of<const T>(weight) + first * weight.layout->stride(0);
}

// out: the tokens of the block by the rows of a plain weight.
void multiply_plain(const LinearJob& job, int thread, const Operand& weight, const UnitRows& rows, const MatrixView<float>& out) {
  const SimdKernels& kernels = job.runtime->kernels();
  const MatrixView<const float> x{job.x + rows.tokens.first * job.k, job.k, rows.tokens.count, job.k};
  const int64_t stride = weight.layout->stride(0);
  if (const auto* halves = contiguous_row<f16>(weight, DType::f16, rows.first))
    return kernels.panel_f16({halves, stride, rows.count, job.k}, x, out);
  if (const auto* halves = contiguous_row<bf16>(weight, DType::bf16, rows.first))
    return kernels.panel_bf16({halves, stride, rows.count, job.k}, x, out);
  ScratchFrame frame(job.runtime->scratch(thread));
  kernels.panel(widen_rows(job, frame, weight, rows.first, rows.count), x, out);
}

// A job on plain weights. A quantized one is widened for every block, so there all activations are one block.
LinearJob make_plain_job(const OpCall& call, ScratchFrame& frame) {
  LinearJob job = make_job(call, kPanelRows, frame);
  block_tokens(job, sizeof(float));
  if (is_quantized(call.inputs[1].dtype)) job.block = job.rows;
  return job;
}

}  // namespace

void linear_any(const OpCall& call) {
  if (can_multiply_tiles(call)) return linear_tiles(call);
  ScratchFrame frame(runtime_of(call).scratch(0));
  const LinearJob job = make_plain_job(call, frame);
  run_units(job, [&](int thread, const Product& product, const UnitRows& rows) {
    multiply_plain(job, thread, *product.weight, rows, product.results(rows));
    finish(job, product, rows);
  });
}

void gated_linear_any(const OpCall& call) {
  if (can_multiply_tiles(call)) return linear_tiles(call);
  ScratchFrame frame(runtime_of(call).scratch(0));
  const LinearJob job = make_plain_job(call, frame);
  run_units(job, [&](int thread, const Product& product, const UnitRows& rows) {
    gate_unit(job, thread, product, rows,
              [&](size_t which, const MatrixView<float>& out) { multiply_plain(job, thread, call.inputs[which + 1], rows, out); });
  });
}

}  // namespace wick::cpu
