// cumsum, and sort with its parts: every dtype and layout, rows on both sides of each change of algorithm, ties, NaN and signed zeros.
#include <fmt/format.h>

#include <cmath>

#include "conformance/case.h"

namespace wick::conformance {
namespace {

// Sums are in f64: each of at most n additions rounds a sum of at most Σ |x|.
Bound cumsum_bound(DType dtype) {
  if (is_integer(dtype)) return {};
  return [](Inputs inputs, const ReferenceTensor& expected) {
    std::vector<ReferenceTensor> magnitudes(inputs.begin(), inputs.end());
    for (double& value : magnitudes[0].values) value = std::fabs(value);
    std::vector<ReferenceTensor> sums = {expected};
    rule(OpId::cumsum).reference(nullptr, magnitudes, sums);
    for (double& value : sums[0].values) value *= 0x1p-53 * static_cast<double>(expected.shape.last());
    return sums[0].values;
  };
}

void add_cumsum(CaseList& list, DType dtype, const Shape& shape, int dim, View view) {
  list.add(OpId::cumsum, dtype, fmt::format("{} dim {}/{}", shape.to_string(), dim, to_string(view)), [=](Trial& trial) {
    const Tensor x = trial.input(shape, dtype, view);
    // The op sees the dimension at the end.
    const Tensor moved = x.transpose(dim, -1);
    trial.expect(OpId::cumsum, nullptr, {&moved}, x.cumsum(dim).transpose(dim, -1), cumsum_bound(dtype));
  });
}

void expect_order(Trial& trial, const Tensor& x, bool descending, const std::pair<Tensor, Tensor>& result) {
  if (!trial.has_values()) return;
  const auto elements = static_cast<size_t>(result.first.elements());
  const std::vector<ReferenceTensor> inputs = {trial.values_of(x)};
  std::vector<ReferenceTensor> expected = {{result.first.shape(), std::vector<double>(elements), x.dtype()},
                                           {result.first.shape(), std::vector<double>(elements), DType::u32}};
  const SortParams params{descending};
  if (elements > 0) rule(OpId::sort).reference(&params, inputs, expected);
  trial.expect_values(expected[0], result.first, {});
  trial.expect_values(expected[1], result.second, {});
}

void add_sort(CaseList& list, DType dtype, const Shape& shape, View view, const std::string& note, const std::vector<double>& values = {}) {
  for (const bool descending : {false, true}) {
    const std::string name = fmt::format("{}/{}/{}{}", shape.to_string(), to_string(view), descending ? "descending" : "ascending", note);
    list.add(OpId::sort, dtype, name, [=](Trial& trial) {
      const Tensor x = values.empty() ? trial.input(shape, dtype, view, {-100, 100}) : trial.input_of(values, shape, dtype, view);
      expect_order(trial, x, descending, x.sort_last_dim(!descending));
      const int64_t length = shape.last();
      for (const int64_t k : {int64_t{1}, length / 20, length / 2}) {
        if (k <= length) expect_order(trial, x, descending, x.topk(k, -1, descending));
      }
    });
  }
}

}  // namespace

void add_order_cases(CaseList& list) {
  for (const DType dtype : kPlainDTypes) {
    for (const View view : views_of({3, 4, 5})) {
      for (int dim = 0; dim < 3; ++dim) add_cumsum(list, dtype, {3, 4, 5}, dim, view);
      add_sort(list, dtype, {3, 4, 5}, view, "");
    }
    for (const int64_t length : {1, 2, 33, 1023, 1024, 1500}) add_sort(list, dtype, {2, length}, View::contiguous, "");
    add_sort(list, dtype, {70001}, View::contiguous, "");
    add_sort(list, dtype, {70001}, View::flipped, " few values", {3, 1, 2});
    add_sort(list, dtype, {5000}, View::contiguous, " equal", {7});
    if (is_float(dtype)) {
      for (const int64_t length : {20, 3000})
        add_sort(list, dtype, {length}, View::contiguous, " ends", {1, kNaN, -kInfinity, 0.0, kInfinity, -0.0, kNaN, -1, 0.0, 2, -3.5});
    }
    add_cumsum(list, dtype, {70001}, 0, View::contiguous);
    add_cumsum(list, dtype, {2, 65537}, 1, View::contiguous);
    for (int dim = 0; dim < 2; ++dim) add_cumsum(list, dtype, {130, 1030}, dim, View::contiguous);
  }
  add_sort(list, DType::i64, {9}, View::contiguous, " ends", {9.2e18, -9.2e18, 0, 1, -1});
  for (const Shape& shape : {Shape{0}, Shape{3, 0}, Shape{0, 3}, Shape{2, 0, 2}}) {
    add_sort(list, DType::f32, shape, View::contiguous, "");
    for (int dim = 0; dim < shape.rank(); ++dim) add_cumsum(list, DType::f32, shape, dim, View::contiguous);
  }
  for (const Shape& shape : {Shape{7}, Shape{2, 3, 2, 3}, Shape{2, 1, 2, 2, 1, 2, 2, 3}}) {
    for (const View view : views_of(shape)) {
      for (int dim = 0; dim < shape.rank(); ++dim) add_cumsum(list, DType::f32, shape, dim, view);
      add_sort(list, DType::f32, shape, view, "");
    }
  }
  add_sort(list, DType::f32, {300, 300}, View::transposed, "");
}

}  // namespace wick::conformance
