// softmax and its logarithm, rms_norm, layer_norm: ops along the last dimension, at every width that a vector loop can get wrong.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conformance/case.h"
#include "wick/tensor/ops/normalize.h"

namespace wick::conformance {
namespace {

std::vector<int64_t> widths() {
  std::vector<int64_t> result;
  for (int64_t width = 1; width <= 70; ++width) result.push_back(width);
  result.insert(result.end(), {255, 256, 257, 1023, 1024, 1025});
  return result;
}

// How many roundings a sum of n terms costs: √n where they are independent. In f64 the reference errs too, and it adds one after another:
// equal terms can cost it n.
double roundings_of_sum(DType dtype, int64_t n) { return dtype == DType::f64 ? static_cast<double>(n) : std::sqrt(static_cast<double>(n)); }

// e^(x - max): the difference is rounded once, which moves e^… by |x - max| · u of itself; the polynomial and the sum add a few u.
Bound softmax_bound(DType dtype) {
  return [dtype, u = roundoff(dtype)](Inputs inputs, const ReferenceTensor& expected) {
    const auto n = static_cast<size_t>(expected.shape.last());
    const double summing = roundings_of_sum(dtype, expected.shape.last());
    std::vector<double> bounds(expected.values.size());
    for (size_t row = 0; row < bounds.size(); row += n) {
      const auto x = std::span(inputs[0].values).subspan(row, n);
      const double largest = *std::max_element(x.begin(), x.end());
      for (size_t i = 0; i < n; ++i) {
        const double distance = std::isfinite(x[i] - largest) ? largest - x[i] : 0;
        bounds[row + i] = (16 + 2 * distance + summing) * u * expected.values[row + i] + 0x1p-126;
      }
    }
    return bounds;
  };
}

// The sum of n squares errs by about √n roundings of itself; the square root halves that, and the products add a few.
Bound rms_norm_bound(DType dtype, int64_t n) {
  const double factor = (8 + roundings_of_sum(dtype, n)) * roundoff(dtype);
  return elementwise_bound([factor](double, double y) { return factor * std::fabs(y); });
}

// x - max - log Σ: the difference and the logarithm are rounded, and the logarithm is at most that of n.
Bound log_softmax_bound(DType dtype) {
  return [dtype, u = roundoff(dtype)](Inputs inputs, const ReferenceTensor& expected) {
    const auto n = static_cast<double>(expected.shape.last());
    const double summing = roundings_of_sum(dtype, expected.shape.last());
    std::vector<double> bounds(expected.values.size());
    for (size_t i = 0; i < bounds.size(); ++i) {
      const double y = std::fabs(expected.values[i]);
      bounds[i] = std::isfinite(y) && std::isfinite(inputs[0].values[i]) ? (8 + 4 * y + 4 * std::log(n) + summing) * u : 0;
    }
    return bounds;
  };
}

// The mean errs by √n roundings of the mean of |x|, and so does each difference from it; √variance + ε divides both. The sum of squares
// errs as rms_norm's does.
Bound layer_norm_bound(DType dtype, double epsilon) {
  return [dtype, u = roundoff(dtype), epsilon](Inputs inputs, const ReferenceTensor& expected) {
    const auto n = static_cast<size_t>(expected.shape.last());
    const double roundings = 8 + roundings_of_sum(dtype, expected.shape.last());
    std::vector<double> bounds(expected.values.size());
    for (size_t row = 0; row < bounds.size(); row += n) {
      const auto x = std::span(inputs[0].values).subspan(row, n);
      double sum = 0;
      double magnitude = 0;
      for (const double value : x) {
        sum += value;
        magnitude += std::fabs(value);
      }
      double squares = 0;
      for (const double value : x) squares += (value - sum / static_cast<double>(n)) * (value - sum / static_cast<double>(n));
      const double deviation = std::sqrt(squares / static_cast<double>(n) + epsilon);
      for (size_t i = 0; i < n; ++i) {
        const double scaled = std::fabs(expected.values[row + i]) + 2 * std::fabs(inputs[2].values[i]);
        const double centre = (magnitude / static_cast<double>(n) + std::fabs(x[i])) / deviation * std::fabs(inputs[1].values[i]);
        bounds[row + i] = roundings * u * (scaled + centre);
      }
    }
    return bounds;
  };
}

void add_softmax(CaseList& list, const Shape& shape, DType dtype, View view, Range range, const std::string& note = "") {
  for (const bool log : {false, true}) {
    list.add(OpId::softmax, dtype, fmt::format("{}{}/{}{}", log ? "log/" : "", shape.to_string(), to_string(view), note),
             [=](Trial& trial) {
               const Tensor x = trial.input(shape, dtype, view, range);
               const SoftmaxParams params{log};
               trial.expect(OpId::softmax, &params, {&x}, log ? log_softmax(x, -1) : softmax(x, -1),
                            log ? log_softmax_bound(dtype) : softmax_bound(dtype));
             });
  }
}

void add_softmax_of(CaseList& list, const std::string& note, std::vector<double> values) {
  const Shape shape{2, static_cast<int64_t>(values.size())};
  for (const bool log : {false, true}) {
    list.add(OpId::softmax, DType::f32, (log ? "log/" : "") + note, [=](Trial& trial) {
      const Tensor x = trial.input_of(values, shape, DType::f32);
      const SoftmaxParams params{log};
      trial.expect(OpId::softmax, &params, {&x}, log ? log_softmax(x, -1) : softmax(x, -1),
                   log ? log_softmax_bound(DType::f32) : softmax_bound(DType::f32));
    });
  }
}

void add_layer_norm(CaseList& list, const Shape& shape, DType dtype, DType weight_dtype, View view, Range range) {
  list.add(OpId::layer_norm, dtype,
           fmt::format("{}/{}/weight {}/{}..{}", shape.to_string(), to_string(view), to_string(weight_dtype), range.low, range.high),
           [=](Trial& trial) {
             const Tensor x = trial.input(shape, dtype, view, range);
             const Tensor weight = trial.input({shape.last()}, weight_dtype, View::contiguous, {0.5, 2});
             const Tensor bias = trial.input({shape.last()}, weight_dtype, View::strided, {-1, 1});
             const LayerNormParams params{1e-5F};
             trial.expect(OpId::layer_norm, &params, {&x, &weight, &bias}, layer_norm(x, weight, bias, params.epsilon),
                          layer_norm_bound(dtype, static_cast<double>(params.epsilon)));
           });
}

// A norm of f16 is that of f32, rounded once.
void expect_rounded(Trial& trial, const Tensor& norm, const Tensor& halves) {
  if (trial.has_values()) trial.expect_true(halves.to_bytes() == norm.to_dtype(DType::f16).to_bytes(), "f16 is not the norm rounded");
}

void add_rms_norm(CaseList& list, const Shape& shape, DType dtype, DType weight_dtype, View view, Range range) {
  list.add(OpId::rms_norm, dtype,
           fmt::format("{}/{}/weight {}/{}..{}", shape.to_string(), to_string(view), to_string(weight_dtype), range.low, range.high),
           [=](Trial& trial) {
             const Tensor x = trial.input(shape, dtype, view, range);
             const Tensor weight =
                 trial.input({shape.last()}, weight_dtype, view == View::contiguous ? View::contiguous : View::flipped, {0.5, 2});
             const RmsNormParams params{1e-5F};
             const Tensor norm = rms_norm(x, weight, params);
             trial.expect(OpId::rms_norm, &params, {&x, &weight}, norm, rms_norm_bound(dtype, shape.last()));
             if (dtype == DType::f32) expect_rounded(trial, norm, rms_norm(x, weight, params, DType::f16));
           });
}

// The sum is rounded once; the norm is of the sum before it is rounded to the dtype, which errs by u of itself at most.
void add_add_rms_norm(CaseList& list, const Shape& shape, DType dtype, DType weight_dtype, View view, View other_view) {
  const std::string name =
      fmt::format("{}/{} + {}/weight {}", shape.to_string(), to_string(view), to_string(other_view), to_string(weight_dtype));
  list.add(OpId::add_rms_norm, dtype, name, [=](Trial& trial) {
    const Tensor x = trial.input(shape, dtype, view), y = trial.input(shape, dtype, other_view);
    const Tensor weight = trial.input({shape.last()}, weight_dtype, View::contiguous, {0.5, 2});
    const RmsNormParams params{1e-5F};
    const SumAndNorm result = add_rms_norm(x, y, weight, params);
    const BinaryParams add{BinaryKind::add};
    const bool is_narrow = dtype != DType::f32 && dtype != DType::f64;
    trial.expect(OpId::binary, &add, {&x, &y}, result.sum,
                 is_narrow ? elementwise_bound([](double, double sum) { return 0x1p-24 * std::fabs(sum); }) : Bound());
    if (!trial.has_values()) return;
    const std::vector<ReferenceTensor> inputs = {trial.values_of(x), trial.values_of(y), trial.values_of(weight)};
    std::vector<ReferenceTensor> expected(2, {shape, std::vector<double>(inputs[0].values.size()), dtype});
    if (shape.elements() > 0) rule(OpId::add_rms_norm).reference(&params, inputs, expected);
    trial.expect_values(expected[1], result.norm, rms_norm_bound(dtype, shape.last())(inputs, expected[1]));
    if (dtype == DType::f32) expect_rounded(trial, result.norm, add_rms_norm(x, y, weight, params, DType::f16).norm);
  });
}

void add_extreme_rows(CaseList& list) {
  add_softmax_of(list, "one infinity is a row of NaN", {1, kInfinity, 2});
  add_softmax_of(list, "minus infinity has no weight", {1, -kInfinity, 2, -kInfinity, 0, -kInfinity, -kInfinity, -1, -kInfinity});
  add_softmax_of(list, "only minus infinity", std::vector<double>(19, -kInfinity));
  add_softmax_of(list, "NaN spreads", {1, 2, 3, 4, 5, 6, 7, 8, 9, kNaN, 11, 12, 13, 14, 15, 16, 17, 18, 19});
  add_softmax_of(list, "NaN first", {kNaN, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17});
  add_softmax_of(list, "1e30 apart", {1e30, 1e30, -1e30, 3e38, 3e38, -3e38, 0});
  add_softmax_of(list, "equal elements", std::vector<double>(33, 12345.678));
}

}  // namespace

void add_row_cases(CaseList& list) {
  for (const int64_t width : widths()) {
    const Shape shape{3, width};
    add_softmax(list, shape, DType::f32, View::contiguous, {-4, 4});
    add_softmax(list, shape, DType::f32, View::narrowed, {-80, 80}, "/large");
    add_rms_norm(list, shape, DType::f32, DType::f32, View::contiguous, {-4, 4});
    add_layer_norm(list, shape, DType::f32, DType::f32, View::contiguous, {-4, 4});
    add_layer_norm(list, shape, DType::f32, DType::f32, View::transposed, {100, 104});
    add_rms_norm(list, shape, DType::f32, DType::f32, View::transposed, {-1e4, 1e4});
  }
  for (const int64_t width : widths()) add_add_rms_norm(list, {3, width}, DType::f32, DType::f32, View::contiguous, View::contiguous);
  for (const int64_t width : {2048, 4096, 4100, 5120})
    add_add_rms_norm(list, {1, width}, DType::f32, DType::f32, View::contiguous, View::contiguous);
  for (const Shape& shape : {Shape{5, 17}, Shape{2, 3, 70}, Shape{257}, Shape{70, 1025}, Shape{0, 5}, Shape{5, 0}}) {
    for (const DType dtype : kFloatDTypes) {
      add_add_rms_norm(list, shape, dtype, DType::f16, View::contiguous, View::narrowed);
      add_add_rms_norm(list, shape, dtype, DType::f32, View::flipped, View::contiguous);
    }
  }
  for (const Shape& shape : {Shape{5, 17}, Shape{2, 3, 70}, Shape{2, 1, 3, 2, 9}, Shape{1}, Shape{257}}) {
    for (const View view : views_of(shape)) {
      for (const DType dtype : kFloatDTypes) {
        add_softmax(list, shape, dtype, view, {-4, 4});
        add_rms_norm(list, shape, dtype, DType::f16, view, {-4, 4});
        add_layer_norm(list, shape, dtype, DType::f16, view, {-4, 4});
      }
    }
  }
  for (const Shape& shape : {Shape{0, 5}, Shape{5, 0}, Shape{2, 0, 3}}) {
    add_softmax(list, shape, DType::f32, View::contiguous, {});
    add_rms_norm(list, shape, DType::f32, DType::f32, View::contiguous, {});
    add_layer_norm(list, shape, DType::f32, DType::f32, View::contiguous, {});
  }
  add_softmax(list, {}, DType::f32, View::contiguous, {});
  // Enough elements for every thread to get some; rows of one element; one row.
  for (const Shape& shape : {Shape{70, 1025}, Shape{40000, 1}, Shape{1, 100003}, Shape{9999, 7}, Shape{1, 300001}}) {
    add_softmax(list, shape, DType::f32, View::contiguous, {-4, 4});
    add_rms_norm(list, shape, DType::f32, DType::f32, View::contiguous, {-4, 4});
    add_layer_norm(list, shape, DType::f32, DType::f32, View::contiguous, {-4, 4});
    add_softmax(list, shape, DType::bf16, View::transposed, {-4, 4});
    add_softmax(list, shape, DType::f64, View::flipped, {-4, 4});
  }
  add_rms_norm(list, {3, 33}, DType::f32, DType::f32, View::contiguous, {-1e-4, 1e-4});
  add_extreme_rows(list);
}

}  // namespace wick::conformance
