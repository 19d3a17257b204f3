// avg_pool2d and max_pool2d over windows that lie inside the image.
#include <algorithm>
#include <cmath>
#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/op_rule.h"

namespace wick {
namespace {

// Calls visit(output element, elements of its window in row-major order, their places in the image) window by window.
template <class Visit>
void for_each_window(const void* params, const ReferenceTensor& input, const ReferenceTensor& output, Visit&& visit) {
  const auto& pool = *static_cast<const PoolParams*>(params);
  const int64_t width = input.shape[3];
  const int64_t area = input.shape[2] * width;
  std::vector<double> values(static_cast<size_t>(pool.kernel[0] * pool.kernel[1]));
  std::vector<int64_t> places(values.size());
  for (size_t at = 0; at < output.values.size(); ++at) {
    const int64_t rest = static_cast<int64_t>(at) % (output.shape[2] * output.shape[3]);
    const int64_t image = static_cast<int64_t>(at) / (output.shape[2] * output.shape[3]);
    const int64_t first = rest / output.shape[3] * pool.stride[0] * width + rest % output.shape[3] * pool.stride[1];
    for (size_t i = 0; i < values.size(); ++i) {
      places[i] = first + static_cast<int64_t>(i) / pool.kernel[1] * width + static_cast<int64_t>(i) % pool.kernel[1];
      values[i] = input.values[static_cast<size_t>(image * area + places[i])];
    }
    visit(at, values, places);
  }
}

void avg_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  for_each_window(params, inputs[0], outputs[0], [&](size_t at, const std::vector<double>& values, const std::vector<int64_t>&) {
    double sum = 0;
    for (const double value : values) sum += value;
    outputs[0].values[at] = sum / static_cast<double>(values.size());
  });
}

void max_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  for_each_window(params, inputs[0], outputs[0], [&](size_t at, const std::vector<double>& values, const std::vector<int64_t>& places) {
    size_t best = 0;
    for (size_t i = 1; i < values.size(); ++i) {
      if (!std::isnan(values[best]) && !(values[i] <= values[best])) best = i;
    }
    outputs[0].values[at] = values[best];
    outputs[1].values[at] = static_cast<double>(places[best]);
  });
}

// Each element's share of a mean, spread back over its window; divided last, so that narrow dtypes round the quotient once.
void avg_gradient(GradientContext& context) {
  const auto& params = context.parameters<PoolParams>();
  const Tensor& g = context.gradient();
  const Shape& x = context.input_shape(0);
  const Tensor ones = Tensor::ones({x[1], 1, params.kernel[0], params.kernel[1]}, g.dtype(), g.device());
  ConvParams spread = {.stride = params.stride, .groups = x[1]};
  for (size_t axis = 0; axis < 2; ++axis) {
    const int at = static_cast<int>(axis) + 2;
    spread.output_padding[axis] = x[at] - (g.dim(at) - 1) * params.stride[axis] - params.kernel[axis];
  }
  context.give(0, g.conv_transpose2d(ones, spread).affine(1.0 / static_cast<double>(params.kernel[0] * params.kernel[1]), 0));
}

PoolParams check(std::string_view op, OpId id, const Tensor& x, const std::array<int64_t, 2>& kernel,
                 const std::optional<std::array<int64_t, 2>>& stride) {
  PoolParams params = {kernel, stride.value_or(kernel)};
  check_dtype(id, op, x);
  if (x.rank() != 4) fail(ErrorCode::shape_mismatch, "{}: {} must have rank 4: [batch, channels, height, width]", op, x.describe());
  for (size_t axis = 0; axis < 2; ++axis) {
    if (params.kernel[axis] < 1 || params.stride[axis] < 1) {
      fail(ErrorCode::invalid_argument, "{}: a window of {} and a stride of {}; both must be at least 1", op, params.kernel[axis],
           params.stride[axis]);
    }
    if (params.kernel[axis] > x.dim(static_cast<int>(axis) + 2)) {
      fail(ErrorCode::shape_mismatch, "{}: a window of {} × {} is larger than the images of {}", op, params.kernel[0], params.kernel[1],
           x.describe());
    }
    // A step beyond the image reaches no second window, however long it is.
    params.stride[axis] = std::min(params.stride[axis], x.dim(static_cast<int>(axis) + 2));
  }
  return params;
}

Shape result_shape(const Tensor& x, const PoolParams& params) {
  return {x.dim(0), x.dim(1), (x.dim(2) - params.kernel[0]) / params.stride[0] + 1, (x.dim(3) - params.kernel[1]) / params.stride[1] + 1};
}

// Places in the whole tensor, from places in images of `area` elements.
Tensor flat_places(const Tensor& places, int64_t area) {
  const int64_t images = places.dim(0) * places.dim(1);
  std::vector<int64_t> starts(static_cast<size_t>(images));
  for (int64_t image = 0; image < images; ++image) starts[static_cast<size_t>(image)] = image * area;
  const Tensor first = Tensor::from_vector(starts, {images, 1}, places.device());
  return (places.to_dtype(DType::i64).reshape({images, places.dim(2) * places.dim(3)}) + first).flatten_all();
}

}  // namespace

const OpRule rules::avg_pool2d = {.defining_operand = 0,
                                  .reference = avg_reference,
                                  .unsupported = refuse_all_but_floats,
                                  .gradient_kind = GradientKind::function,
                                  .gradient = avg_gradient};
// The tape sees max_pool2d with its indices, which the second output has.
const OpRule rules::max_pool2d = {.defining_operand = 0, .reference = max_reference, .unsupported = refuse_quantized};

Tensor Tensor::avg_pool2d(std::array<int64_t, 2> kernel, std::optional<std::array<int64_t, 2>> stride) const {
  check_assigned("avg_pool2d", *this);
  const PoolParams params = check("avg_pool2d", OpId::avg_pool2d, *this, kernel, stride);
  Tensor result = make_result("avg_pool2d", result_shape(*this, params), dtype(), device());
  apply(OpId::avg_pool2d, params, {this}, {&result});
  return result;
}

Tensor Tensor::max_pool2d(std::array<int64_t, 2> kernel, std::optional<std::array<int64_t, 2>> stride) const {
  check_assigned("max_pool2d", *this);
  const PoolParams params = check("max_pool2d", OpId::max_pool2d, *this, kernel, stride);
  Tensor result = make_result("max_pool2d", result_shape(*this, params), dtype(), device());
  const Tensor places = make_result("max_pool2d", result.shape(), DType::u32, device());
  dispatch(OpId::max_pool2d, &params, {this}, {&result, &places});
  // Each gradient goes to the place that its maximum came from.
  const auto gradient = [places](GradientContext& context) {
    const Shape& x = context.input_shape(0);
    const Tensor zeros = Tensor::zeros({x.elements()}, context.gradient().dtype(), places.device());
    context.give(0, zeros.index_add(flat_places(places, x[2] * x[3]), context.gradient().flatten_all(), 0).reshape(x));
  };
  const Tensor* const inputs[] = {this};
  record("max_pool2d", gradient, inputs, result);
  return result;
}

}  // namespace wick
