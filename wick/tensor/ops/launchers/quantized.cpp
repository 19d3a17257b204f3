#include "wick/tensor/ops/launchers/quantized.h"

#include <array>

#include "wick/base/error.h"
#include "wick/kernels/dequantize.h"
#include "wick/kernels/quantize.h"
#include "wick/kernels/quantized_blocks.h"
#include "wick/tensor/ops/launchers/launchers.h"

namespace wick::launchers {
namespace {

// Of dimensions that count elements, the last of which is stepped through `run` by `run`; offset and strides count `unit` elements.
Layout in_runs(const Layout& layout, int64_t run, int64_t unit) {
  std::array<int64_t, kMaxRank> extents{};
  std::array<int64_t, kMaxRank> strides{};
  const auto rank = static_cast<size_t>(layout.rank());
  for (size_t d = 0; d < rank; ++d) {
    const auto dim = static_cast<int>(d);
    const bool last = d + 1 == rank;
    extents[d] = last ? layout.shape()[dim] / run : layout.shape()[dim];
    strides[d] = layout.stride(dim) * (last ? run : 1) / unit;
  }
  return {Shape(std::span(extents).first(rank)), std::span(strides).first(rank), layout.offset() / unit};
}

// ids, each for every one of `units` units.
Layout for_each_unit(const Layout& ids, int64_t units) {
  Layout layout = ids.unsqueeze(ids.rank());
  std::array<int64_t, kMaxRank> extents{};
  for (int dim = 0; dim < ids.rank(); ++dim) extents[static_cast<size_t>(dim)] = ids.shape()[dim];
  extents[static_cast<size_t>(ids.rank())] = units;
  return layout.broadcast_to(Shape(std::span(extents).first(static_cast<size_t>(ids.rank()) + 1)));
}

}  // namespace

Arguments quantized_arguments(Runtime& runtime, const Operand& tensor) {
  Arguments arguments;
  arguments.buffer(tensor);
  if (kernels::has_codebook(tensor.dtype)) {
    arguments.buffer(runtime.constant({"codebook", {number_of(tensor.dtype)}}, [&] { return kernels::codebook_words(tensor.dtype); }));
  }
  if (kernels::has_tensor_scale(tensor.dtype)) arguments.size(storage_bytes(tensor.dtype, tensor.layout->elements()) / 4);
  return arguments;
}

void dequantize(const OpCall& call) {
  const Operand& in = call.inputs[0];
  const Operand& out = call.outputs[0];
  const DeviceCaps& caps = call.runtime->caps();
  const Layout source = in_runs(*in.layout, 16, 16), target = in_runs(*out.layout, 16, 1);
  const Operand from{nullptr, in.dtype, &source}, to{out.buffer, out.dtype, &target};
  launch_strided(
      *call.runtime, {"dequantize", {number_of(in.dtype), number_of(out.dtype)}},
      [&](uint32_t rank) { return kernels::dequantize(in.dtype, out.dtype, rank, caps); }, {&from, &to},
      Arguments().stride(out.layout->stride(out.layout->rank() - 1)), quantized_arguments(*call.runtime, in));
}

void quantize(const OpCall& call) {
  const Operand& in = call.inputs[0];
  const Operand& out = call.outputs[0];
  const Layout source = in_runs(*in.layout, 32, 1), target = in_runs(*out.layout, 32, 32);
  const Operand from{in.buffer, in.dtype, &source}, to{out.buffer, out.dtype, &target};
  launch_strided(
      *call.runtime, {"quantize_q8_0", {}}, [&](uint32_t rank) { return kernels::quantize_q8_0(rank, call.runtime->caps()); }, {&from, &to},
      Arguments().stride(in.layout->stride(in.layout->rank() - 1)));
}

void embedding(const OpCall& call) {
  const Operand& table = call.inputs[0];
  const Operand& ids = call.inputs[1];
  const Operand& out = call.outputs[0];
  const DeviceCaps& caps = call.runtime->caps();
  const int64_t width = table.layout->shape()[1];
  const bool quantized = is_quantized(table.dtype);
  const Layout id_places = for_each_unit(*ids.layout, quantized ? width / 16 : width);
  const Layout target = quantized ? in_runs(*out.layout, 16, 1) : *out.layout;
  const Operand id{ids.buffer, ids.dtype, &id_places}, to{out.buffer, out.dtype, &target};
  const ProgramKey key{"embedding", {number_of(table.dtype), number_of(ids.dtype)}};
  if (quantized) {
    launch_strided(
        *call.runtime, key, [&](uint32_t rank) { return kernels::embedding_of_blocks(table.dtype, ids.dtype, rank, caps); }, {&id, &to},
        Arguments().size(width).size(table.layout->offset() / 16), quantized_arguments(*call.runtime, table));
  } else {
    Arguments others;
    others.size(width).size(table.layout->offset()).stride(table.layout->stride(0)).stride(table.layout->stride(1));
    launch_strided(
        *call.runtime, key, [&](uint32_t rank) { return kernels::embedding_of_numbers(table.dtype, ids.dtype, rank, caps); }, {&id, &to},
        others, Arguments().buffer(table));
  }
}

}  // namespace wick::launchers
