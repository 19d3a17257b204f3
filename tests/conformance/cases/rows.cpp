// softmax, argmax, rms_norm: ops along the last dimension, at every width that a vector loop can get wrong.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "conformance/case.h"
#include "tensor/ops/normalize.h"

namespace wick::conformance {
namespace {

const ReduceParams kLargestPlace = {ReduceKind::argmax, 1};
const SoftmaxParams kPlainSoftmax;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<int64_t> widths() {
  std::vector<int64_t> result;
  for (int64_t width = 1; width <= 70; ++width) result.push_back(width);
  result.insert(result.end(), {255, 256, 257, 1023, 1024, 1025});
  return result;
}

// e^(x - max): the difference is rounded once, which moves e^… by |x - max| · u of itself; the polynomial and the sum add a few u.
Bound softmax_bound(DType dtype) {
  return [u = roundoff(dtype)](Inputs inputs, const ReferenceTensor& expected) {
    const auto n = static_cast<size_t>(expected.shape.last());
    std::vector<double> bounds(expected.values.size());
    for (size_t row = 0; row < bounds.size(); row += n) {
      const auto x = std::span(inputs[0].values).subspan(row, n);
      const double largest = *std::max_element(x.begin(), x.end());
      for (size_t i = 0; i < n; ++i) {
        const double distance = std::isfinite(x[i] - largest) ? largest - x[i] : 0;
        bounds[row + i] = (16 + 2 * distance + std::sqrt(static_cast<double>(n))) * u * expected.values[row + i] + 0x1p-126;
      }
    }
    return bounds;
  };
}

// The sum of n squares errs by about √n roundings of itself; the square root halves that, and the products add a few.
Bound rms_norm_bound(DType dtype, int64_t n) {
  const double factor = (8 + std::sqrt(static_cast<double>(n))) * roundoff(dtype);
  return elementwise_bound([factor](double, double y) { return factor * std::fabs(y); });
}

void add_softmax(CaseList& list, const Shape& shape, DType dtype, View view, Range range, const std::string& note = "") {
  list.add(OpId::softmax, dtype, fmt::format("{}/{}{}", shape.to_string(), to_string(view), note), [=](Trial& trial) {
    const Tensor x = trial.input(shape, dtype, view, range);
    trial.expect(OpId::softmax, &kPlainSoftmax, {&x}, softmax_last_dim(x), softmax_bound(dtype));
  });
}

void add_softmax_of(CaseList& list, const std::string& note, std::vector<double> values) {
  const Shape shape{2, static_cast<int64_t>(values.size())};
  list.add(OpId::softmax, DType::f32, note, [=](Trial& trial) {
    const Tensor x = trial.input_of(values, shape, DType::f32);
    trial.expect(OpId::softmax, &kPlainSoftmax, {&x}, softmax_last_dim(x), softmax_bound(DType::f32));
  });
}

void add_argmax(CaseList& list, const Shape& shape, DType dtype, View view, Range range) {
  list.add(OpId::reduce, dtype, fmt::format("argmax/{}/{}/{}..{}", shape.to_string(), to_string(view), range.low, range.high),
           [=](Trial& trial) {
             const Tensor x = trial.input(shape, dtype, view, range);
             trial.expect(OpId::reduce, &kLargestPlace, {&x}, x.argmax(-1));
           });
}

void add_argmax_of(CaseList& list, const std::string& note, std::vector<double> values, double index) {
  const Shape shape{static_cast<int64_t>(values.size())};
  list.add(OpId::reduce, DType::f32, note, [=](Trial& trial) {
    const Tensor x = trial.input_of(values, shape, DType::f32);
    const Tensor result = x.argmax(-1);
    trial.expect(OpId::reduce, &kLargestPlace, {&x}, result);
    trial.expect_values({Shape(), {index}}, result, {});
  });
}

void add_rms_norm(CaseList& list, const Shape& shape, DType dtype, DType weight_dtype, View view, Range range) {
  list.add(OpId::rms_norm, dtype,
           fmt::format("{}/{}/weight {}/{}..{}", shape.to_string(), to_string(view), to_string(weight_dtype), range.low, range.high),
           [=](Trial& trial) {
             const Tensor x = trial.input(shape, dtype, view, range);
             const Tensor weight =
                 trial.input({shape.last()}, weight_dtype, view == View::contiguous ? View::contiguous : View::flipped, {0.5, 2});
             const RmsNormParams params{1e-5F};
             trial.expect(OpId::rms_norm, &params, {&x, &weight}, rms_norm(x, weight, params.epsilon), rms_norm_bound(dtype, shape.last()));
           });
}

void add_extremes(CaseList& list) {
  add_softmax_of(list, "one infinity is a row of NaN", {1, kInfinity, 2});
  add_softmax_of(list, "minus infinity has no weight", {1, -kInfinity, 2, -kInfinity, 0, -kInfinity, -kInfinity, -1, -kInfinity});
  add_softmax_of(list, "only minus infinity", std::vector<double>(19, -kInfinity));
  add_softmax_of(list, "NaN spreads", {1, 2, 3, 4, 5, 6, 7, 8, 9, kNaN, 11, 12, 13, 14, 15, 16, 17, 18, 19});
  add_softmax_of(list, "NaN first", {kNaN, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17});
  add_softmax_of(list, "1e30 apart", {1e30, 1e30, -1e30, 3e38, 3e38, -3e38, 0});
  add_softmax_of(list, "equal elements", std::vector<double>(33, 12345.678));
  add_argmax_of(list, "the first of equal ones", {1, 5, 5, 2, 5}, 1);
  add_argmax_of(list, "NaN is largest", {1, kInfinity, kNaN, 2, kNaN}, 2);
  add_argmax_of(list, "NaN first", {kNaN, kInfinity, kNaN}, 0);
  add_argmax_of(list, "only minus infinity", {-kInfinity, -kInfinity}, 0);
  add_argmax_of(list, "zeros of both signs are equal", {-0.0, 0.0}, 0);
  for (const int64_t n : {9, 33, 257}) {
    std::vector<double> ties(static_cast<size_t>(n), 1);
    ties[static_cast<size_t>(n) - 1] = 7;
    ties[static_cast<size_t>(n) / 2] = 7;
    add_argmax_of(list, fmt::format("two largest of {}", n), ties, static_cast<double>(n / 2));
  }
  std::vector<double> late(40, -1);
  late[37] = kNaN;
  add_argmax_of(list, "NaN behind the vectors", late, 37);
}

}  // namespace

void add_row_cases(CaseList& list) {
  for (const int64_t width : widths()) {
    const Shape shape{3, width};
    add_softmax(list, shape, DType::f32, View::contiguous, {-4, 4});
    add_softmax(list, shape, DType::f32, View::narrowed, {-80, 80}, "/large");
    add_argmax(list, shape, DType::f32, View::contiguous, {-4, 4});
    add_rms_norm(list, shape, DType::f32, DType::f32, View::contiguous, {-4, 4});
    add_rms_norm(list, shape, DType::f32, DType::f32, View::transposed, {-1e4, 1e4});
  }
  for (const Shape& shape : {Shape{5, 17}, Shape{2, 3, 70}, Shape{2, 1, 3, 2, 9}, Shape{1}, Shape{257}}) {
    for (const View view : views_of(shape)) {
      for (const DType dtype : kFloatDTypes) {
        add_softmax(list, shape, dtype, view, {-4, 4});
        add_rms_norm(list, shape, dtype, DType::f16, view, {-4, 4});
      }
      for (const DType dtype : kPlainDTypes) add_argmax(list, shape, dtype, view, {-3, 3});
    }
  }
  for (const Shape& shape : {Shape{0, 5}, Shape{5, 0}, Shape{2, 0, 3}}) {
    add_softmax(list, shape, DType::f32, View::contiguous, {});
    add_rms_norm(list, shape, DType::f32, DType::f32, View::contiguous, {});
  }
  add_softmax(list, {}, DType::f32, View::contiguous, {});
  add_argmax(list, {0, 5}, DType::f32, View::contiguous, {});
  // Enough elements for every thread to get some; rows of one element; one row.
  for (const Shape& shape : {Shape{70, 1025}, Shape{40000, 1}, Shape{1, 100003}, Shape{9999, 7}}) {
    add_softmax(list, shape, DType::f32, View::contiguous, {-4, 4});
    add_argmax(list, shape, DType::f32, View::contiguous, {-4, 4});
    add_rms_norm(list, shape, DType::f32, DType::f32, View::contiguous, {-4, 4});
  }
  add_rms_norm(list, {3, 33}, DType::f32, DType::f32, View::contiguous, {-1e-4, 1e-4});
  add_extremes(list);
}

}  // namespace wick::conformance
