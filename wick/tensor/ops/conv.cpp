// conv2d and conv_transpose2d with padding, stride, dilation and groups; the 1-d forms are images of height 1.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/fill.h"
#include "wick/tensor/ops/op_rule.h"
#include "wick/tensor/ops/reference.h"

namespace wick {
namespace {

using Pair = std::array<int64_t, 2>;

// Beyond any image; places in one, which kernels compute from these, stay far from overflow.
constexpr int64_t kLargestParam = std::numeric_limits<int32_t>::max();

// Extents of a convolution as both references walk it: `wide` is the image that the windows lie on (conv2d's input, conv_transpose2d's
// output), `grid` the image with one element a window.
struct Geometry {
  ConvParams params;
  Pair wide;
  Pair grid;
  Pair kernel;
};

Pair image_of(const Shape& shape) { return {shape[2], shape[3]}; }

// Calls visit(element of the wide image, element of the grid, element of the kernel) for each product of one pair of channels.
template <class Visit>
void for_each_product(const Geometry& g, Visit&& visit) {
  for (int64_t y = 0; y < g.grid[0]; ++y) {
    for (int64_t x = 0; x < g.grid[1]; ++x) {
      for (int64_t ky = 0; ky < g.kernel[0]; ++ky) {
        const int64_t row = y * g.params.stride[0] + ky * g.params.dilation[0] - g.params.padding[0];
        if (row < 0 || row >= g.wide[0]) continue;
        for (int64_t kx = 0; kx < g.kernel[1]; ++kx) {
          const int64_t column = x * g.params.stride[1] + kx * g.params.dilation[1] - g.params.padding[1];
          if (column < 0 || column >= g.wide[1]) continue;
          visit(static_cast<size_t>(row * g.wide[1] + column), static_cast<size_t>(y * g.grid[1] + x),
                static_cast<size_t>(ky * g.kernel[1] + kx));
        }
      }
    }
  }
}

void wrap_sums(ReferenceTensor& tensor) {
  if (!is_integer(tensor.dtype)) return;
  for (double& value : tensor.values) value = wrap_integer(tensor.dtype, as_integer(value));
}

// The kernel is [narrow, wide / groups, kh, kw] in both directions: narrow channels belong to the grid, wide ones to the other image.
// `direction`: adds the products of one (narrow, wide) pair of channels of one image.
template <class Add>
void for_each_channel_pair(int64_t batch, int64_t narrow, int64_t wide, int64_t groups, const Add& add) {
  for (int64_t image = 0; image < batch; ++image) {
    for (int64_t channel = 0; channel < narrow; ++channel) {
      const int64_t group = channel / (narrow / groups);
      for (int64_t other = 0; other < wide / groups; ++other) {
        add(static_cast<size_t>(image * narrow + channel), static_cast<size_t>(image * wide + group * (wide / groups) + other),
            static_cast<size_t>(channel * (wide / groups) + other));
      }
    }
  }
}

void conv_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const Geometry g = {*static_cast<const ConvParams*>(params), image_of(inputs[0].shape), image_of(outputs[0].shape),
                      image_of(inputs[1].shape)};
  const auto area = [](const Pair& extents) { return static_cast<size_t>(extents[0] * extents[1]); };
  std::fill(outputs[0].values.begin(), outputs[0].values.end(), 0.0);
  for_each_channel_pair(outputs[0].shape[0], outputs[0].shape[1], inputs[0].shape[1], g.params.groups,
                        [&](size_t narrow, size_t wide, size_t kernel) {
                          const double* x = inputs[0].values.data() + wide * area(g.wide);
                          const double* weights = inputs[1].values.data() + kernel * area(g.kernel);
                          double* y = outputs[0].values.data() + narrow * area(g.grid);
                          for_each_product(g, [&](size_t in, size_t out, size_t at) { y[out] += x[in] * weights[at]; });
                        });
  wrap_sums(outputs[0]);
}

void transpose_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const Geometry g = {*static_cast<const ConvParams*>(params), image_of(outputs[0].shape), image_of(inputs[0].shape),
                      image_of(inputs[1].shape)};
  const auto area = [](const Pair& extents) { return static_cast<size_t>(extents[0] * extents[1]); };
  std::fill(outputs[0].values.begin(), outputs[0].values.end(), 0.0);
  for_each_channel_pair(inputs[0].shape[0], inputs[0].shape[1], outputs[0].shape[1], g.params.groups,
                        [&](size_t narrow, size_t wide, size_t kernel) {
                          const double* x = inputs[0].values.data() + narrow * area(g.grid);
                          const double* weights = inputs[1].values.data() + kernel * area(g.kernel);
                          double* y = outputs[0].values.data() + wide * area(g.wide);
                          for_each_product(g, [&](size_t out, size_t in, size_t at) { y[out] += x[in] * weights[at]; });
                        });
  wrap_sums(outputs[0]);
}

// 0 where the kernel does not fit, or where the numbers leave the range of int64_t.
int64_t conv_extent(int64_t extent, int64_t kernel, const ConvParams& params, size_t axis) {
  const Checked room = Checked(extent) + Checked(2) * params.padding[axis] - Checked(params.dilation[axis]) * (kernel - 1) - 1;
  return room.value_or(-1) < 0 ? 0 : room.value_or(0) / params.stride[axis] + 1;
}

int64_t transpose_extent(int64_t extent, int64_t kernel, const ConvParams& params, size_t axis) {
  const Checked result = Checked(extent - 1) * params.stride[axis] - Checked(2) * params.padding[axis] +
                         Checked(params.dilation[axis]) * (kernel - 1) + params.output_padding[axis] + 1;
  return result.value_or(0);
}

// Exchanges batch and channels of an image, group by group: [batch, groups · c, h, w] -> [c, groups · batch, h, w].
Tensor exchange_batch(const Tensor& images, int64_t groups) {
  const int64_t batch = images.dim(0);
  const int64_t channels = images.dim(1) / groups;
  return images.reshape({batch, groups, channels, images.dim(2), images.dim(3)})
      .permute({2, 1, 0, 3, 4})
      .reshape({channels, groups * batch, images.dim(2), images.dim(3)});
}

// The gradient of the kernel [narrow, wide / groups, kh, kw]: the grid's image slides over the wide one, so that stride and dilation
// change places; what a last, unused part of the wide image adds at the end is cut off.
Tensor kernel_gradient(const Tensor& wide, const Tensor& grid, const ConvParams& params, const Shape& kernel) {
  const ConvParams exchanged = {
      .padding = params.padding, .output_padding = {0, 0}, .stride = params.dilation, .dilation = params.stride, .groups = params.groups};
  const Tensor sums = exchange_batch(wide, params.groups).conv2d(grid.transpose(0, 1), exchanged);
  return sums.narrow(2, 0, kernel[2]).narrow(3, 0, kernel[3]).transpose(0, 1);
}

void conv_gradient(GradientContext& context) {
  const auto& params = context.parameters<ConvParams>();
  const Tensor& g = context.gradient();
  const Shape& x = context.input_shape(0);
  const Shape& kernel = context.input_shape(1);
  if (context.wants(0)) {
    ConvParams back = params;
    for (size_t axis = 0; axis < 2; ++axis) {
      const int at = static_cast<int>(axis) + 2;
      back.output_padding[axis] = 0;
      back.output_padding[axis] = x[at] - transpose_extent(g.dim(at), kernel[at], back, axis);
    }
    context.give(0, g.conv_transpose2d(context.input(1), back));
  }
  if (context.wants(1)) context.give(1, kernel_gradient(context.input(0), g, params, kernel));
}

void conv_transpose_gradient(GradientContext& context) {
  const auto& params = context.parameters<ConvParams>();
  const Tensor& g = context.gradient();
  const Shape& x = context.input_shape(0);
  if (context.wants(0)) {
    ConvParams back = params;
    back.output_padding = {0, 0};
    context.give(0, g.conv2d(context.input(1), back).narrow(2, 0, x[2]).narrow(3, 0, x[3]));
  }
  if (context.wants(1)) context.give(1, kernel_gradient(g, context.input(0), params, context.input_shape(1)));
}

void check_operands(std::string_view op, const Tensor& x, const Tensor& kernel, const ConvParams& params) {
  if (x.rank() != 4 || kernel.rank() != 4) {
    fail(ErrorCode::shape_mismatch, "{}: x {} and kernel {} must have rank 4: [batch, channels, height, width]", op, x.describe(),
         kernel.describe());
  }
  check_dtype(OpId::conv2d, op, x);
  if (x.dtype() != kernel.dtype()) {
    fail(ErrorCode::dtype_mismatch, "{}: x {} and kernel {} must have one dtype", op, x.describe(), kernel.describe());
  }
  for (size_t axis = 0; axis < 2; ++axis) {
    if (params.stride[axis] < 1 || params.dilation[axis] < 1 || params.padding[axis] < 0 || params.output_padding[axis] < 0) {
      fail(ErrorCode::invalid_argument, "{}: stride {} and dilation {} must be at least 1, padding {} and output_padding {} at least 0", op,
           params.stride[axis], params.dilation[axis], params.padding[axis], params.output_padding[axis]);
    }
    if (std::max({params.stride[axis], params.dilation[axis], params.padding[axis], params.output_padding[axis]}) > kLargestParam) {
      fail(ErrorCode::invalid_argument, "{}: stride {}, dilation {}, padding {} and output_padding {} must each be at most {}", op,
           params.stride[axis], params.dilation[axis], params.padding[axis], params.output_padding[axis], kLargestParam);
    }
    if (kernel.dim(static_cast<int>(axis) + 2) < 1) fail(ErrorCode::shape_mismatch, "{}: kernel {} is empty", op, kernel.describe());
  }
  if (params.groups < 1 || x.dim(1) % params.groups != 0 || kernel.dim(0) % params.groups != 0) {
    fail(ErrorCode::invalid_argument, "{}: {} groups do not divide the channels of x {} and kernel {}", op, params.groups, x.describe(),
         kernel.describe());
  }
}

void check_extents(std::string_view op, const Tensor& x, const Tensor& kernel, const Pair& extents) {
  if (extents[0] >= 1 && extents[1] >= 1) return;
  fail(ErrorCode::shape_mismatch, "{}: kernel {} is larger than x {} with its padding; the result would be {} × {}", op, kernel.describe(),
       x.describe(), extents[0], extents[1]);
}

// Sums of nothing: zeros, whose gradients are zeros.
Tensor convolve_nothing(std::string_view name, OpId op, const Tensor& x, const Tensor& kernel, const Shape& shape) {
  Tensor result = make_result(name, shape, x.dtype(), x.device());
  fill(result, 0, name);
  const std::array<const Tensor*, 2> operands = {&x, &kernel};
  const auto gradient = [](GradientContext& context) {
    const Tensor& g = context.gradient();
    for (size_t i = 0; i < 2; ++i) context.give(i, Tensor::zeros(context.input_shape(i), g.dtype(), g.device()));
  };
  record(to_string(op), gradient, operands, result);
  return result;
}

Tensor run(std::string_view name, OpId op, const Tensor& x, const Tensor& kernel, const ConvParams& params, const Shape& shape) {
  if (x.elements() == 0 || kernel.elements() == 0) return convolve_nothing(name, op, x, kernel, shape);
  Tensor result = make_result(name, shape, x.dtype(), x.device());
  apply(op, params, {&x, &kernel}, {&result});
  return result;
}

Tensor conv(std::string_view op, const Tensor& x, const Tensor& kernel, const ConvParams& params) {
  check_assigned(op, {{"x", x}, {"kernel", kernel}});
  check_operands(op, x, kernel, params);
  if (x.dim(1) != kernel.dim(1) * params.groups) {
    fail(ErrorCode::shape_mismatch, "{}: x {} has {} channels; kernel {}{} takes {}", op, x.describe(), x.dim(1), kernel.describe(),
         params.groups == 1 ? "" : fmt::format(" with {} groups", params.groups), kernel.dim(1) * params.groups);
  }
  const Pair extents = {conv_extent(x.dim(2), kernel.dim(2), params, 0), conv_extent(x.dim(3), kernel.dim(3), params, 1)};
  check_extents(op, x, kernel, extents);
  return run(op, OpId::conv2d, x, kernel, params, Extents({x.dim(0), kernel.dim(0), extents[0], extents[1]}).checked(op));
}

Tensor conv_transpose(std::string_view op, const Tensor& x, const Tensor& kernel, const ConvParams& params) {
  check_assigned(op, {{"x", x}, {"kernel", kernel}});
  check_operands(op, x, kernel, params);
  if (x.dim(1) != kernel.dim(0)) {
    fail(ErrorCode::shape_mismatch, "{}: x {} has {} channels, kernel {} takes {}", op, x.describe(), x.dim(1), kernel.describe(),
         kernel.dim(0));
  }
  for (size_t axis = 0; axis < 2; ++axis) {
    if (params.output_padding[axis] < std::max(params.stride[axis], params.dilation[axis])) continue;
    fail(ErrorCode::invalid_argument, "{}: output_padding {} must be below stride {} or dilation {}", op, params.output_padding[axis],
         params.stride[axis], params.dilation[axis]);
  }
  const Pair extents = {transpose_extent(x.dim(2), kernel.dim(2), params, 0), transpose_extent(x.dim(3), kernel.dim(3), params, 1)};
  check_extents(op, x, kernel, extents);
  return run(op, OpId::conv_transpose2d, x, kernel, params,
             Extents({x.dim(0), kernel.dim(1) * params.groups, extents[0], extents[1]}).checked(op));
}

void check_line(std::string_view op, const Tensor& x, const Tensor& kernel) {
  check_assigned(op, {{"x", x}, {"kernel", kernel}});
  if (x.rank() == 3 && kernel.rank() == 3) return;
  fail(ErrorCode::shape_mismatch, "{}: x {} and kernel {} must have rank 3: [batch, channels, length]", op, x.describe(),
       kernel.describe());
}

}  // namespace

const OpRule rules::conv2d = {.defining_operand = 0,
                              .reference = conv_reference,
                              .unsupported = refuse_quantized,
                              .gradient_kind = GradientKind::function,
                              .gradient = conv_gradient};
const OpRule rules::conv_transpose2d = {.defining_operand = 0,
                                        .reference = transpose_reference,
                                        .unsupported = refuse_quantized,
                                        .gradient_kind = GradientKind::function,
                                        .gradient = conv_transpose_gradient};

Tensor Tensor::conv2d(const Tensor& kernel, const ConvParams& params) const { return conv("conv2d", *this, kernel, params); }

Tensor Tensor::conv2d(const Tensor& kernel, int64_t padding, int64_t stride, int64_t dilation, int64_t groups) const {
  return conv("conv2d", *this, kernel,
              {.padding = {padding, padding}, .stride = {stride, stride}, .dilation = {dilation, dilation}, .groups = groups});
}

Tensor Tensor::conv_transpose2d(const Tensor& kernel, const ConvParams& params) const {
  return conv_transpose("conv_transpose2d", *this, kernel, params);
}

Tensor Tensor::conv_transpose2d(const Tensor& kernel, int64_t padding, int64_t output_padding, int64_t stride, int64_t dilation,
                                int64_t groups) const {
  return conv_transpose("conv_transpose2d", *this, kernel,
                        {.padding = {padding, padding},
                         .output_padding = {output_padding, output_padding},
                         .stride = {stride, stride},
                         .dilation = {dilation, dilation},
                         .groups = groups});
}

Tensor Tensor::conv1d(const Tensor& kernel, int64_t padding, int64_t stride, int64_t dilation, int64_t groups) const {
  check_line("conv1d", *this, kernel);
  const ConvParams params = {.padding = {0, padding}, .stride = {1, stride}, .dilation = {1, dilation}, .groups = groups};
  return conv("conv1d", unsqueeze(2), kernel.unsqueeze(2), params).squeeze(2);
}

Tensor Tensor::conv_transpose1d(const Tensor& kernel, int64_t padding, int64_t output_padding, int64_t stride, int64_t dilation,
                                int64_t groups) const {
  check_line("conv_transpose1d", *this, kernel);
  const ConvParams params = {
      .padding = {0, padding}, .output_padding = {0, output_padding}, .stride = {1, stride}, .dilation = {1, dilation}, .groups = groups};
  return conv_transpose("conv_transpose1d", unsqueeze(2), kernel.unsqueeze(2), params).squeeze(2);
}

}  // namespace wick
