#include "wick/backend/cpu/gemm/conv_plan.h"

namespace wick::cpu {
namespace {

using Pair = std::array<int64_t, 2>;
using Strides = std::array<int64_t, 4>;

std::vector<ConvTap> taps_of(const ConvParams& params, const Pair& extents, const Strides& strides) {
  std::vector<ConvTap> taps;
  for (int64_t y = 0; y < extents[0]; ++y) {
    for (int64_t x = 0; x < extents[1]; ++x) {
      const Pair place = {y * params.dilation[0] - params.padding[0], x * params.dilation[1] - params.padding[1]};
      taps.push_back({place, y * strides[2] + x * strides[3]});
    }
  }
  return taps;
}

// Output pixel o takes kernel element y from input (o + padding - y · dilation) / stride, where that is whole. With o = stride · q + r
// it is q + (r + padding - y · dilation) / stride.
ConvGrid transposed_grid(const ConvParams& params, const Pair& extents, const Strides& strides, const Pair& out_image,
                         const Pair& remainder) {
  ConvGrid grid{{}, remainder, params.stride, {1, 1}, {}};
  for (size_t axis = 0; axis < 2; ++axis) {
    grid.extents[axis] = (out_image[axis] - remainder[axis] + params.stride[axis] - 1) / params.stride[axis];
  }
  for (int64_t y = 0; y < extents[0]; ++y) {
    for (int64_t x = 0; x < extents[1]; ++x) {
      const Pair away = {remainder[0] + params.padding[0] - y * params.dilation[0],
                         remainder[1] + params.padding[1] - x * params.dilation[1]};
      if (away[0] % params.stride[0] != 0 || away[1] % params.stride[1] != 0) continue;
      grid.taps.push_back({{away[0] / params.stride[0], away[1] / params.stride[1]}, y * strides[2] + x * strides[3]});
    }
  }
  return grid;
}

}  // namespace

ConvPlan plan_conv(const OpCall& call, const Strides& kernel_strides) {
  const auto& params = call.parameters<ConvParams>();
  const Shape& x = call.inputs[0].layout->shape();
  const Shape& kernel = call.inputs[1].layout->shape();
  const Pair extents = {kernel[2], kernel[3]};
  const Shape& out = call.outputs[0].layout->shape();
  const bool transposed = call.op == OpId::conv_transpose2d;
  ConvPlan plan{x[0],
                params.groups,
                x[1] / params.groups,
                out[1] / params.groups,
                {x[2], x[3]},
                {out[2], out[3]},
                kernel[0] / params.groups * kernel_strides[0],
                kernel_strides[transposed ? 1 : 0],
                kernel_strides[transposed ? 0 : 1],
                {}};
  if (!transposed) {
    plan.grids.push_back({plan.out_image, {0, 0}, {1, 1}, params.stride, taps_of(params, extents, kernel_strides)});
    return plan;
  }
  for (int64_t y = 0; y < std::min(params.stride[0], out[2]); ++y) {
    for (int64_t x_first = 0; x_first < std::min(params.stride[1], out[3]); ++x_first) {
      plan.grids.push_back(transposed_grid(params, extents, kernel_strides, plan.out_image, {y, x_first}));
    }
  }
  return plan;
}

}  // namespace wick::cpu
