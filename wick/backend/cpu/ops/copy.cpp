// Copies between dtypes and layouts, dequantizing, and fill.
#include <algorithm>
#include <array>
#include <cstring>

#include "wick/backend/cpu/cpu_runtime.h"
#include "wick/backend/cpu/op_table.h"
#include "wick/backend/cpu/ops/convert.h"
#include "wick/backend/cpu/ops/strided.h"
#include "wick/backend/cpu/weights/unpack.h"
#include "wick/quant/unpack_row.h"

namespace wick::cpu {
namespace {

// The layouts' rows along the last dimension, in pairs: body(source offset, target offset).
template <class Body>
void for_each_row_pair(const Layout& source, const Layout& target, Body&& body) {
  const int last = source.rank() - 1;
  if (last < 0) {
    body(source.offset(), target.offset());
    return;
  }
  if (source.elements() == 0) return;
  std::array<int64_t, kMaxRank> index{};
  int64_t from = source.offset();
  int64_t to = target.offset();
  while (true) {
    body(from, to);
    int dim = last - 1;
    for (; dim >= 0; --dim) {
      const auto d = static_cast<size_t>(dim);
      from += source.stride(dim);
      to += target.stride(dim);
      if (++index[d] < source.shape()[dim]) break;
      from -= source.stride(dim) * source.shape()[dim];
      to -= target.stride(dim) * source.shape()[dim];
      index[d] = 0;
    }
    if (dim < 0) return;
  }
}

// f32 rows into a key/value cache of q8_0.
void copy_to_q8_0(const OpCall& call) {
  const Operand& source = call.inputs[0];
  const Operand& target = call.outputs[0];
  CpuRuntime& runtime = runtime_of(call);
  const int last = source.layout->rank() - 1;
  const int64_t width = source.layout->shape().last();
  const int64_t step = width == 1 ? 1 : source.layout->stride(last);
  const auto* from = reinterpret_cast<const float*>(source.buffer->host_data());
  ScratchFrame frame(runtime.scratch(0));
  auto* row = frame.take<float>(static_cast<size_t>(width));
  for_each_row_pair(*source.layout, *target.layout, [&](int64_t source_offset, int64_t target_offset) {
    const float* x = from + source_offset;
    if (step != 1) {
      copy_elements(reinterpret_cast<const std::byte*>(x), step * 4, reinterpret_cast<std::byte*>(row), 4, width, 4);
      x = row;
    }
    runtime.kernels().f32_to_q8_0(x, target.buffer->host_data() + storage_bytes(DType::q8_0, target_offset), static_cast<size_t>(width));
  });
}

}  // namespace

void copy_plain(const OpCall& call) {
  if (call.outputs[0].dtype == DType::q8_0) return copy_to_q8_0(call);
  const SimdKernels& kernels = runtime_of(call).kernels();
  const DType from = call.inputs[0].dtype;
  const DType to = call.outputs[0].dtype;
  const int64_t size = info(to).block_bytes;
  for_each_run(call, [&](std::byte* out, const RunInput* inputs, int64_t n) {
    convert_elements(kernels, from, inputs[0].data, to, out, inputs[0].scalar ? 1 : n);
    if (inputs[0].scalar) repeat_element(out, out + size, n - 1, size);
  });
}

void copy_quantized(const OpCall& call) {
  const Operand& source = call.inputs[0];
  const Operand& target = call.outputs[0];
  CpuRuntime& runtime = runtime_of(call);
  const int64_t width = source.layout->shape().last();
  ScratchFrame frame(runtime.scratch(0));
  const std::span<float> row(frame.take<float>(static_cast<size_t>(width)), static_cast<size_t>(width));
  const int last = source.layout->rank() - 1;
  const int64_t target_stride = last < 0 ? 1 : target.layout->stride(last);
  for_each_row_pair(*source.layout, *target.layout, [&](int64_t source_offset, int64_t target_offset) {
    unpack_row(source.dtype, source.buffer->host_data(), source.buffer->bytes(), source_offset / width, row);
    write_strided(runtime.kernels(), row.data(), width, target.dtype,
                  target.buffer->host_data() + target_offset * info(target.dtype).block_bytes, target_stride);
  });
}

void fill_any(const OpCall& call) {
  const DType dtype = call.outputs[0].dtype;
  const double value = call.parameters<FillParams>().value;
  std::array<std::byte, sizeof(double)> element{};
  convert_elements(runtime_of(call).kernels(), DType::f64, reinterpret_cast<const std::byte*>(&value), dtype, element.data(), 1);
  for_each_run(call, [&](std::byte* out, const RunInput* /*inputs*/, int64_t n) {
    repeat_element(element.data(), out, n, info(dtype).block_bytes);
  });
}

}  // namespace wick::cpu
