// upsample2d: images resized by the nearest pixel, or by weights of the four around.
#include <algorithm>
#include <cmath>

#include "wick/base/fail.h"
#include "wick/op/interpolation.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/op_rule.h"

namespace wick {
namespace {

void upsample_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const auto& upsample = *static_cast<const UpsampleParams*>(params);
  const Shape& from = inputs[0].shape;
  const Shape& to = outputs[0].shape;
  for (size_t at = 0; at < outputs[0].values.size(); ++at) {
    const auto index = static_cast<int64_t>(at);
    const double* image = inputs[0].values.data() + index / (to[2] * to[3]) * (from[2] * from[3]);
    const int64_t row = index / to[3] % to[2];
    const int64_t column = index % to[3];
    if (upsample.mode == UpsampleMode::nearest) {
      outputs[0].values[at] = image[nearest_source(row, from[2], to[2]) * from[3] + nearest_source(column, from[3], to[3])];
      continue;
    }
    const InterpolationTap y = interpolation_tap(row, from[2], upsample.step[0], upsample.align_corners);
    const InterpolationTap x = interpolation_tap(column, from[3], upsample.step[1], upsample.align_corners);
    const double upper = image[y.low * from[3] + x.low] * (1 - x.weight) + image[y.low * from[3] + x.high] * x.weight;
    const double lower = image[y.high * from[3] + x.low] * (1 - x.weight) + image[y.high * from[3] + x.high] * x.weight;
    outputs[0].values[at] = upper * (1 - y.weight) + lower * y.weight;
  }
}

// Interpolation along one dimension as a matrix [to, from].
Tensor interpolation_matrix(int64_t from, int64_t to, double step, bool align_corners, const Tensor& like) {
  std::vector<double> weights(static_cast<size_t>(from * to));
  for (int64_t row = 0; row < to; ++row) {
    const InterpolationTap tap = interpolation_tap(row, from, step, align_corners);
    weights[static_cast<size_t>(row * from + tap.low)] += 1 - tap.weight;
    weights[static_cast<size_t>(row * from + tap.high)] += tap.weight;
  }
  return Tensor::from_vector(weights, {to, from}, like.device()).to_dtype(like.dtype());
}

// Interpolation is X ↦ A X Bᵀ for each image, so its gradient is G ↦ Aᵀ G B. Weights need more digits than a narrow dtype has.
Tensor bilinear_gradient(const Tensor& gradient, const Shape& x, const UpsampleParams& params) {
  const bool wide = gradient.dtype() == DType::f32 || gradient.dtype() == DType::f64;
  const Tensor g = wide ? gradient : gradient.to_dtype(DType::f32);
  const Tensor rows = interpolation_matrix(x[2], g.dim(2), params.step[0], params.align_corners, g);
  const Tensor columns = interpolation_matrix(x[3], g.dim(3), params.step[1], params.align_corners, g);
  return rows.t().matmul(g.matmul(columns)).to_dtype(gradient.dtype());
}

// The sources of each output pixel along one dimension, as ids.
Tensor nearest_ids(int64_t from, int64_t to, const Device& device) {
  std::vector<int64_t> ids(static_cast<size_t>(to));
  for (int64_t i = 0; i < to; ++i) ids[static_cast<size_t>(i)] = nearest_source(i, from, to);
  return Tensor::from_vector(ids, {to}, device);
}

Tensor nearest_gradient(const Tensor& g, const Shape& x) {
  const Tensor rows =
      Tensor::zeros({x[0], x[1], g.dim(2), x[3]}, g.dtype(), g.device()).index_add(nearest_ids(x[3], g.dim(3), g.device()), g, 3);
  return Tensor::zeros(x, g.dtype(), g.device()).index_add(nearest_ids(x[2], g.dim(2), g.device()), rows, 2);
}

void upsample_gradient(GradientContext& context) {
  const auto& params = context.parameters<UpsampleParams>();
  const Shape& x = context.input_shape(0);
  context.give(
      0, params.mode == UpsampleMode::nearest ? nearest_gradient(context.gradient(), x) : bilinear_gradient(context.gradient(), x, params));
}

Tensor run(std::string_view op, const Tensor& x, int64_t height, int64_t width, const UpsampleParams& params) {
  check_dtype(OpId::upsample2d, op, x);
  if (x.rank() != 4) fail(ErrorCode::shape_mismatch, "{}: {} must have rank 4: [batch, channels, height, width]", op, x.describe());
  if (params.mode == UpsampleMode::bilinear && !is_float(x.dtype())) {
    fail(ErrorCode::unsupported, "{}: not defined for {}: {}", op, x.describe(), kFloatsOnly);
  }
  if (height < 1 || width < 1) {
    fail(ErrorCode::invalid_argument, "{}: an image of {} × {} from {}; both must be at least 1", op, height, width, x.describe());
  }
  if (x.dim(2) < 1 || x.dim(3) < 1) fail(ErrorCode::shape_mismatch, "{}: {} has no pixel to take values from", op, x.describe());
  Tensor result = make_result(op, Extents({x.dim(0), x.dim(1), height, width}).checked(op), x.dtype(), x.device());
  apply(OpId::upsample2d, params, {&x}, {&result});
  return result;
}

// With corners aligned, the first and last pixels of both images lie on each other.
double bilinear_step(int64_t from, int64_t to, bool align_corners, std::optional<double> scale) {
  if (align_corners) return to > 1 ? static_cast<double>(from - 1) / static_cast<double>(to - 1) : 0;
  return scale ? 1 / *scale : static_cast<double>(from) / static_cast<double>(to);
}

}  // namespace

const OpRule rules::upsample2d = {.defining_operand = 0,
                                  .reference = upsample_reference,
                                  .unsupported = refuse_quantized,
                                  .gradient_kind = GradientKind::function,
                                  .gradient = upsample_gradient};

Tensor Tensor::upsample_nearest2d(int64_t height, int64_t width) const {
  check_assigned("upsample_nearest2d", *this);
  return run("upsample_nearest2d", *this, height, width, {.mode = UpsampleMode::nearest});
}

Tensor Tensor::upsample_nearest1d(int64_t length) const {
  check_assigned("upsample_nearest1d", *this);
  if (rank() != 3) fail(ErrorCode::shape_mismatch, "upsample_nearest1d: {} must have rank 3: [batch, channels, length]", describe());
  return run("upsample_nearest1d", unsqueeze(2), 1, length, {.mode = UpsampleMode::nearest}).squeeze(2);
}

Tensor Tensor::upsample_bilinear2d(int64_t height, int64_t width, bool align_corners) const {
  check_assigned("upsample_bilinear2d", *this);
  if (rank() != 4) return run("upsample_bilinear2d", *this, height, width, {.mode = UpsampleMode::bilinear});
  const UpsampleParams params = {
      .mode = UpsampleMode::bilinear,
      .align_corners = align_corners,
      .step = {bilinear_step(dim(2), height, align_corners, {}), bilinear_step(dim(3), width, align_corners, {})}};
  return run("upsample_bilinear2d", *this, height, width, params);
}

Tensor Tensor::upsample_bilinear2d_with_scale(double scale_height, double scale_width, bool align_corners) const {
  check_assigned("upsample_bilinear2d_with_scale", *this);
  if (!(scale_height > 0) || !(scale_width > 0)) {
    fail(ErrorCode::invalid_argument, "upsample_bilinear2d: scales {} and {} must be above 0", scale_height, scale_width);
  }
  if (rank() != 4) return run("upsample_bilinear2d", *this, 1, 1, {.mode = UpsampleMode::bilinear});
  if (!(static_cast<double>(dim(2)) * scale_height < 0x1p53) || !(static_cast<double>(dim(3)) * scale_width < 0x1p53)) {
    fail(ErrorCode::invalid_argument, "upsample_bilinear2d: scales {} and {} of {}: no image is that large", scale_height, scale_width,
         describe());
  }
  const auto height = static_cast<int64_t>(std::floor(static_cast<double>(dim(2)) * scale_height));
  const auto width = static_cast<int64_t>(std::floor(static_cast<double>(dim(3)) * scale_width));
  const UpsampleParams params = {
      .mode = UpsampleMode::bilinear,
      .align_corners = align_corners,
      .step = {bilinear_step(dim(2), height, align_corners, scale_height), bilinear_step(dim(3), width, align_corners, scale_width)}};
  return run("upsample_bilinear2d", *this, height, width, params);
}

}  // namespace wick
