#include <algorithm>
#include <memory>

#include "kernels/linear.h"
#include "kernels/quantized_matvec.h"
#include "tensor/ops/by_kernel/by_kernel.h"
#include "tensor/ops/by_kernel/quantized.h"

namespace wick::by_kernel {
namespace {

using kernels::LinearForm;
using kernels::RowAccess;

// x as the kernels want it: dense rows of `columns`, of which the first element is at `offset`.
struct Activations {
  const Buffer* buffer;
  int64_t offset, rows, columns;
  std::unique_ptr<Buffer> aligned;  // a copy of them, where they began between vectors
};

Activations activations_of(Runtime& runtime, const Operand& x) {
  Activations result{x.buffer, x.layout->offset(), 0, x.layout->shape().last(), nullptr};
  result.rows = x.layout->elements() / result.columns;
  if (result.offset % 4 == 0) return result;
  const size_t bytes = static_cast<size_t>(x.layout->elements()) * sizeof(float);
  result.aligned = runtime.allocate(bytes, Lifetime::transient);
  runtime.queue().copy(*x.buffer, static_cast<size_t>(result.offset) * sizeof(float), *result.aligned, 0, bytes);
  result.buffer = result.aligned.get();
  result.offset = 0;
  return result;
}

RowAccess access_of(const Operand& weight) {
  if (is_quantized(weight.dtype)) return RowAccess::blocks;
  const int64_t vector = 16 / info(weight.dtype).block_bytes;
  const Layout& layout = *weight.layout;
  const bool wide = weight.dtype == DType::f32 || weight.dtype == DType::f16 || weight.dtype == DType::bf16;
  const bool whole = layout.shape()[1] % vector == 0 && layout.offset() % vector == 0 && layout.stride(0) % vector == 0;
  return wide && whole && layout.stride(1) == 1 && layout.stride(0) >= 0 ? RowAccess::vectors : RowAccess::elements;
}

// Buffers and parameters of kernels::WeightRows, and the buffer of a second weight.
Arguments weight_arguments(Runtime& runtime, const Operand& weight, const Operand* second) {
  Arguments arguments = is_quantized(weight.dtype) ? quantized_arguments(runtime, weight) : Arguments().buffer(weight);
  if (second != nullptr) arguments.buffer(*second);
  const Layout& layout = *weight.layout;
  if (is_quantized(weight.dtype)) return arguments.size(layout.offset() / 16).size(layout.shape()[1] / 16).size(1);
  return arguments.size(weight.layout->offset()).stride(weight.layout->stride(0)).stride(weight.layout->stride(1));
}

ir::Grid over_rows(int64_t groups, const DeviceCaps& caps) {
  const auto x = std::min<int64_t>(groups, caps.max_group_count[0]);
  return {static_cast<uint32_t>(x), static_cast<uint32_t>((groups + x - 1) / x), 1};
}

// What a call of several weights shares.
class LinearCall {
 public:
  explicit LinearCall(const OpCall& call)
      : runtime_(*call.runtime), precise_(call.parameters<LinearParams>().precise), x_(activations_of(runtime_, call.inputs[0])) {}

  // y = x · weightᵀ, or silu(x · weightᵀ) · (x · upᵀ), at `offset` of y.
  void multiply(const Operand& weight, const Operand* up, const Buffer& y, int64_t offset) {
    if (x_.rows > 2 * kernels::kMaxMatvecTokens) return multiply_blocks(weight, up, y, offset);
    if (has_byte_product(weight, up)) {
      for (int64_t token = 0; token < x_.rows; ++token) multiply_bytes(weight, y, offset, token);
      return;
    }
    for (int64_t token = 0; token < x_.rows; token += kernels::kMaxMatvecTokens) multiply_few(weight, up, y, offset, token);
  }

 private:
  [[nodiscard]] const DeviceCaps& caps() const { return runtime_.caps(); }

  // Whether a product of bytes with rounded activations is there and allowed.
  [[nodiscard]] bool has_byte_product(const Operand& weight, const Operand* up) const {
    return !precise_ && up == nullptr && caps().int8_dot && (weight.dtype == DType::q8_0 || weight.dtype == DType::q4_k) &&
           weight.layout->offset() == 0;
  }

  // The activations in bytes, made once for all weights.
  void round_activations() {
    if (bytes_ != nullptr) return;
    const int64_t count = x_.rows * x_.columns;
    bytes_ = runtime_.allocate(static_cast<size_t>(count), Lifetime::transient);
    scales_ = runtime_.allocate(static_cast<size_t>(count / 32) * sizeof(float), Lifetime::transient);
    const Program& program = runtime_.program({"quantize_q8", {}}, [&] { return kernels::quantize_q8(caps()); });
    launch(runtime_, program, kernels::groups_for(program.kernel(), static_cast<uint64_t>(count / 32), caps()),
           Arguments().buffer(*x_.buffer).buffer(*bytes_).buffer(*scales_).size(x_.offset).size(count));
  }

  void multiply_bytes(const Operand& weight, const Buffer& y, int64_t offset, int64_t token) {
    round_activations();
    const int64_t rows = weight.layout->shape()[0];
    const bool q8 = weight.dtype == DType::q8_0;
    const Program& program = runtime_.program({"matvec_bytes", {number_of(weight.dtype)}},
                                              [&] { return q8 ? kernels::matvec_q8_0(caps()) : kernels::matvec_q4_k(caps()); });
    const int64_t per_group = kernels::rows_per_group(program.kernel());
    launch(runtime_, program, over_rows((rows + per_group - 1) / per_group, caps()),
           Arguments()
               .buffer(weight)
               .buffer(*bytes_)
               .buffer(*scales_)
               .buffer(y)
               .size(x_.columns / info(weight.dtype).block_elements)
               .size(rows)
               .size(token * x_.columns)
               .size(offset + token * rows));
  }

  void multiply_few(const Operand& weight, const Operand* up, const Buffer& y, int64_t offset, int64_t token) {
    const LinearForm form{weight.dtype, access_of(weight), up != nullptr};
    const int64_t rows = weight.layout->shape()[0], count = std::min<int64_t>(x_.rows - token, kernels::kMaxMatvecTokens);
    const uint32_t room = count == 1 ? 1 : kernels::kMaxMatvecTokens;
    const Program& program =
        runtime_.program({"matvec", {number_of(form.dtype), static_cast<uint32_t>(form.access), form.gated ? 1U : 0U, room}},
                         [&] { return kernels::matvec(form, room, caps()); });
    Arguments arguments = weight_arguments(runtime_, weight, up);
    arguments.buffer(*x_.buffer).buffer(y);
    arguments.size(x_.offset + token * x_.columns).size(x_.columns).size(rows).size(offset + token * rows).size(count);
    const auto per_group = static_cast<int64_t>(kernels::matvec_rows_per_group(caps()));
    launch(runtime_, program, over_rows((rows + per_group - 1) / per_group, caps()), arguments);
  }

  void multiply_blocks(const Operand& weight, const Operand* up, const Buffer& y, int64_t offset) {
    const int64_t rows = weight.layout->shape()[0];
    if (up != nullptr) {
      const std::unique_ptr<Buffer> gate = runtime_.allocate(static_cast<size_t>(x_.rows * rows) * sizeof(float), Lifetime::transient);
      multiply_blocks(weight, nullptr, *gate, 0);
      multiply_blocks(*up, nullptr, y, offset);
      const Program& program = runtime_.program({"gate_by_silu", {}}, [&] { return kernels::gate_by_silu(caps()); });
      launch(runtime_, program, kernels::groups_for(program.kernel(), static_cast<uint64_t>(x_.rows * rows), caps()),
             Arguments().buffer(*gate).buffer(y).size(x_.rows * rows).size(offset));
      return;
    }
    const LinearForm form{weight.dtype, access_of(weight), false};
    const Program& program = runtime_.program({"linear_blocks", {number_of(form.dtype), static_cast<uint32_t>(form.access)}},
                                              [&] { return kernels::linear_blocks(form, caps()); });
    Arguments arguments = weight_arguments(runtime_, weight, nullptr);
    arguments.buffer(*x_.buffer).buffer(y);
    arguments.size(x_.offset).size(x_.columns).size(rows).size(offset).size(x_.rows);
    const auto block = static_cast<int64_t>(kernels::linear_block(caps()));
    const ir::Grid grid{static_cast<uint32_t>((rows + block - 1) / block), static_cast<uint32_t>((x_.rows + block - 1) / block), 1};
    launch(runtime_, program, grid, arguments);
  }

  Runtime& runtime_;
  bool precise_;
  Activations x_;
  std::unique_ptr<Buffer> bytes_, scales_;
};

bool is_empty(const Operand& operand) { return operand.layout->elements() == 0; }

}  // namespace

void linear(const OpCall& call) {
  LinearCall linear(call);
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    const Operand& y = call.outputs[i];
    if (!is_empty(y)) linear.multiply(call.inputs[i + 1], nullptr, *y.buffer, y.layout->offset());
  }
}

void gated_linear(const OpCall& call) {
  const Operand& y = call.outputs[0];
  LinearCall(call).multiply(call.inputs[1], &call.inputs[2], *y.buffer, y.layout->offset());
}

}  // namespace wick::by_kernel
