#include "wick/kernels/images.h"

#include <span>
#include <vector>

#include "wick/op/interpolation.h"
#include "wick/tensor/ops/launchers/launchers.h"
#include "wick/tensor/ops/launchers/row_view.h"

namespace wick::launchers {
namespace {

// Channels, height and width.
void append_extents(Arguments& arguments, const Layout& layout) {
  for (int dim = 1; dim < 4; ++dim) arguments.size(layout.shape()[dim]);
}

void append_pair(Arguments& arguments, const std::array<int64_t, 2>& pair) { arguments.size(pair[0]).size(pair[1]); }

// Behind the buffers: what all kernels with an x of any strides take.
void append_images(Arguments& arguments, const Operand& x, const Operand& y) {
  check_range(x);
  check_range(y);
  arguments.size(y.layout->elements());
  append_extents(arguments, *y.layout);
  arguments.size(first_of(y)).size(x.layout->offset());
  for (int dim = 0; dim < 4; ++dim) arguments.stride(x.layout->stride(dim));
}

void launch_images(Runtime& runtime, const ProgramKey& key, const std::function<ir::Kernel()>& make, const Operand& y,
                   const Arguments& arguments) {
  const Program& program = runtime.program(key, make);
  launch(runtime, program, kernels::groups_for(program.kernel(), static_cast<uint64_t>(y.layout->elements()), runtime.caps()), arguments);
}

void convolve(const OpCall& call, kernels::ConvDirection direction) {
  Runtime& runtime = *call.runtime;
  const auto& params = call.parameters<ConvParams>();
  const Operand& y = call.outputs[0];
  const DType dtype = call.inputs[0].dtype;
  for (const Operand* operand : {&call.inputs[0], &call.inputs[1], &y}) check_range(*operand);
  const Contiguous x = contiguous(runtime, call.inputs[0]), weight = contiguous(runtime, call.inputs[1]);
  Arguments arguments;
  arguments.buffer(*x.buffer).buffer(*weight.buffer).buffer(y);
  arguments.size(y.layout->elements()).size(x.layout.offset()).size(weight.layout.offset()).size(first_of(y));
  append_extents(arguments, *y.layout);
  append_extents(arguments, x.layout);
  arguments.size(params.groups);
  append_pair(arguments, {weight.layout.shape()[2], weight.layout.shape()[3]});
  append_pair(arguments, params.padding);
  append_pair(arguments, params.stride);
  append_pair(arguments, params.dilation);
  launch_images(
      runtime, {"conv2d", {number_of(dtype), static_cast<uint32_t>(direction)}},
      [&] { return kernels::conv2d(dtype, direction, runtime.caps()); }, y, arguments);
}

// A table that the host computed, on the device.
template <class T>
std::unique_ptr<Buffer> uploaded(Runtime& runtime, const std::vector<T>& table) {
  const auto bytes = std::as_bytes(std::span(table));
  std::unique_ptr<Buffer> buffer = runtime.allocate(bytes.size(), Lifetime::transient);
  runtime.queue().upload(bytes.data(), *buffer, 0, bytes.size());
  return buffer;
}

void upsample_nearest(const OpCall& call) {
  Runtime& runtime = *call.runtime;
  const Operand &x = call.inputs[0], &y = call.outputs[0];
  std::vector<uint32_t> sources;
  for (const int dim : {2, 3}) {
    const int64_t from = x.layout->shape()[dim], to = y.layout->shape()[dim];
    for (int64_t at = 0; at < to; ++at) sources.push_back(static_cast<uint32_t>(nearest_source(at, from, to)));
  }
  const std::unique_ptr<Buffer> taps = uploaded(runtime, sources);
  const auto bytes = static_cast<uint32_t>(info(x.dtype).block_bytes);
  Arguments arguments;
  arguments.buffer(x).buffer(*taps).buffer(y);
  append_images(arguments, x, y);
  launch_images(runtime, {"upsample_nearest", {bytes}}, [&] { return kernels::upsample_nearest(bytes, runtime.caps()); }, y, arguments);
}

void upsample_bilinear(const OpCall& call) {
  Runtime& runtime = *call.runtime;
  const auto& params = call.parameters<UpsampleParams>();
  const Operand &x = call.inputs[0], &y = call.outputs[0];
  std::vector<uint32_t> sources;
  std::vector<double> weights;
  for (const int dim : {2, 3}) {
    for (int64_t at = 0; at < y.layout->shape()[dim]; ++at) {
      const double step = params.step[static_cast<size_t>(dim) - 2];
      const InterpolationTap tap = interpolation_tap(at, x.layout->shape()[dim], step, params.align_corners);
      sources.push_back(static_cast<uint32_t>(tap.low));
      sources.push_back(static_cast<uint32_t>(tap.high));
      weights.push_back(tap.weight);
    }
  }
  const std::unique_ptr<Buffer> taps = uploaded(runtime, sources);
  const std::unique_ptr<Buffer> shares =
      x.dtype == DType::f64 ? uploaded(runtime, weights) : uploaded(runtime, std::vector<float>(weights.begin(), weights.end()));
  Arguments arguments;
  arguments.buffer(x).buffer(*taps).buffer(*shares).buffer(y);
  append_images(arguments, x, y);
  launch_images(
      runtime, {"upsample_bilinear", {number_of(x.dtype)}}, [&] { return kernels::upsample_bilinear(x.dtype, runtime.caps()); }, y,
      arguments);
}

}  // namespace

void conv2d(const OpCall& call) { convolve(call, kernels::ConvDirection::forward); }

void conv_transpose2d(const OpCall& call) { convolve(call, kernels::ConvDirection::transposed); }

void avg_pool2d(const OpCall& call) {
  const auto& params = call.parameters<PoolParams>();
  const Operand &x = call.inputs[0], &y = call.outputs[0];
  Arguments arguments;
  arguments.buffer(x).buffer(y);
  append_images(arguments, x, y);
  append_pair(arguments, params.kernel);
  append_pair(arguments, params.stride);
  launch_images(
      *call.runtime, {"avg_pool2d", {number_of(x.dtype)}}, [&] { return kernels::avg_pool2d(x.dtype, call.runtime->caps()); }, y,
      arguments);
}

void max_pool2d(const OpCall& call) {
  const auto& params = call.parameters<PoolParams>();
  const Operand &x = call.inputs[0], &y = call.outputs[0], &places = call.outputs[1];
  Arguments arguments;
  arguments.buffer(x).buffer(y).buffer(places);
  append_images(arguments, x, y);
  append_pair(arguments, params.kernel);
  append_pair(arguments, params.stride);
  arguments.size(first_of(places)).size(x.layout->shape()[3]);
  launch_images(
      *call.runtime, {"max_pool2d", {number_of(x.dtype)}}, [&] { return kernels::max_pool2d(x.dtype, call.runtime->caps()); }, y,
      arguments);
}

void upsample2d(const OpCall& call) {
  call.parameters<UpsampleParams>().mode == UpsampleMode::nearest ? upsample_nearest(call) : upsample_bilinear(call);
}

}  // namespace wick::launchers
