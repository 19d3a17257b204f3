// reduce: every kind over the last dimensions of every view, at every width that a vector loop can get wrong, whole tensors and columns.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conformance/case.h"
#include "wick/tensor/ops/dispatch.h"

namespace wick::conformance {
namespace {

const std::vector<ReduceKind> kKinds = {ReduceKind::sum, ReduceKind::mean,   ReduceKind::min,
                                        ReduceKind::max, ReduceKind::argmin, ReduceKind::argmax};

std::string_view name_of(ReduceKind kind) { return to_string(kind); }

// A sum of n terms in any order errs by about √n roundings of Σ |x| where they are independent; a mean is that divided, and rounded once
// more. In f64 the reference errs too, and it adds one after another: equal terms can cost it n roundings.
Bound bound_of(const ReduceParams& params, DType dtype) {
  if (is_integer(dtype) || (params.kind != ReduceKind::sum && params.kind != ReduceKind::mean)) return {};
  return [params, dtype, u = roundoff(dtype)](Inputs inputs, const ReferenceTensor& expected) {
    std::vector<double> bounds(expected.values.size());
    const size_t n = inputs[0].values.size() / bounds.size();
    const double scale = params.kind == ReduceKind::mean ? 1 / static_cast<double>(n) : 1;
    for (size_t i = 0; i < bounds.size(); ++i) {
      double magnitude = 0;
      for (size_t j = 0; j < n; ++j) magnitude += std::fabs(inputs[0].values[i * n + j]);
      const double roundings = dtype == DType::f64 ? static_cast<double>(n) : std::sqrt(static_cast<double>(n));
      bounds[i] = (2 + roundings) * u * magnitude * scale;
    }
    return bounds;
  };
}

Tensor reduced(const ReduceParams& params, const Tensor& x) {
  std::vector<int> dims;
  for (int dim = x.rank() - params.dims; dim < x.rank(); ++dim) dims.push_back(dim);
  switch (params.kind) {
    case ReduceKind::sum: return x.sum(Dims(dims));
    case ReduceKind::mean: return x.mean(Dims(dims));
    case ReduceKind::min: return x.min(Dims(dims));
    case ReduceKind::max: return x.max(Dims(dims));
    case ReduceKind::argmin:
    case ReduceKind::argmax: break;
  }
  // The API names one dimension; the op takes several.
  const Shape& shape = x.shape();
  const Shape kept(shape.dims().first(static_cast<size_t>(shape.rank() - params.dims)));
  Tensor result = Tensor::empty(kept, DType::u32, x.device());
  apply(OpId::reduce, params, {&x}, {&result});
  return result;
}

bool takes(ReduceKind kind, DType dtype) { return kind != ReduceKind::mean || !is_integer(dtype); }

void add(CaseList& list, ReduceKind kind, int dims, const Shape& shape, DType dtype, View view, Range range = {-4, 4}) {
  if (!takes(kind, dtype)) return;
  const std::string name =
      fmt::format("{}/{} of {}/{}/{}..{}", name_of(kind), dims, shape.to_string(), to_string(view), range.low, range.high);
  list.add(OpId::reduce, dtype, name, [=](Trial& trial) {
    const Tensor x = trial.input(shape, dtype, view, range);
    const ReduceParams params{kind, dims};
    trial.expect(OpId::reduce, &params, {&x}, reduced(params, x), bound_of(params, dtype));
  });
}

void add_values(CaseList& list, ReduceKind kind, DType dtype, const std::string& note, const std::vector<double>& values) {
  if (!takes(kind, dtype)) return;
  list.add(OpId::reduce, dtype, fmt::format("{}/{}", name_of(kind), note), [=](Trial& trial) {
    const auto n = static_cast<int64_t>(values.size());
    const ReduceParams params{kind, 1};
    const Tensor row = trial.input_of(values, {n}, dtype);
    trial.expect(OpId::reduce, &params, {&row}, reduced(params, row), bound_of(params, dtype));
    // Eight columns of the same numbers.
    const Tensor columns = row.reshape({n, 1}).broadcast_to({n, 8}).contiguous().transpose(0, 1);
    trial.expect(OpId::reduce, &params, {&columns}, reduced(params, columns), bound_of(params, dtype));
  });
}

void add_extreme_reductions(CaseList& list) {
  for (const ReduceKind kind : kKinds) {
    for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
      add_values(list, kind, dtype, "the first of equal ones", {1, 5, 5, 2, 5, 1});
      add_values(list, kind, dtype, "NaN is most extreme", {1, kInfinity, kNaN, 2, kNaN, -kInfinity});
      add_values(list, kind, dtype, "NaN first", {kNaN, kInfinity, kNaN});
      add_values(list, kind, dtype, "only minus infinity", {-kInfinity, -kInfinity});
      add_values(list, kind, dtype, "zeros of both signs are equal", {-0.0, 0.0, -0.0});
      for (const int64_t n : {9, 33, 257, 2100}) {
        std::vector<double> ties(static_cast<size_t>(n), 1);
        for (const int64_t at : {n - 1, n / 2}) ties[static_cast<size_t>(at)] = 7;
        ties[static_cast<size_t>(n) / 3] = -7;
        add_values(list, kind, dtype, fmt::format("two largest of {}", n), ties);
        ties[static_cast<size_t>(n) - 2] = kNaN;
        add_values(list, kind, dtype, fmt::format("NaN late in {}", n), ties);
      }
    }
    add_values(list, kind, DType::u8, "wraps around", {200, 100, 255, 255, 7});
    add_values(list, kind, DType::i8, "wraps around", {127, 1, 127, -128, 5});
    add_values(list, kind, DType::i16, "wraps around", {32767, 1, 32767, -32768, 5});
    add_values(list, kind, DType::i32, "wraps around", {2147483647, 1, 2147483647});
    add_values(list, kind, DType::u32, "wraps around", {4294967295, 1, 4294967295});
  }
}

}  // namespace

void add_reduce_cases(CaseList& list) {
  for (const ReduceKind kind : kKinds) {
    for (int64_t width = 1; width <= 70; ++width) {
      add(list, kind, 1, {3, width}, DType::f32, View::contiguous);
      add(list, kind, 1, {width, 5}, DType::f32, View::transposed);
    }
    for (const DType dtype : kPlainDTypes) {
      const Range range = is_integer(dtype) ? Range{-100, 100} : Range{-4, 4};
      for (const int64_t width : {15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 5000}) {
        add(list, kind, 1, {2, width}, dtype, View::contiguous, range);
        add(list, kind, 1, {width, 33}, dtype, View::transposed, range);
      }
      for (const Shape& shape : {Shape{5, 17}, Shape{2, 3, 70}, Shape{2, 1, 3, 2, 9}, Shape{257}, Shape{2, 3, 4, 5}, Shape{8, 40, 6}}) {
        for (const View view : views_of(shape)) {
          for (int dims = 1; dims <= shape.rank(); ++dims) add(list, kind, dims, shape, dtype, view, range);
        }
      }
      add(list, kind, 0, {3, 5}, dtype, View::contiguous, range);
    }
    for (const DType dtype : {DType::f32, DType::bf16, DType::i64}) {
      // Several segments and threads; columns in several blocks.
      add(list, kind, 1, {600007}, dtype, View::contiguous);
      add(list, kind, 2, {9, 100003}, dtype, View::contiguous);
      add(list, kind, 1, {300007, 5}, dtype, View::transposed);
      add(list, kind, 1, {131, 4100}, dtype, View::transposed);
    }
    add(list, kind, 1, {40000, 1}, DType::f32, View::contiguous);
    add(list, kind, 1, {9999, 7}, DType::f32, View::contiguous);
    add(list, kind, 2, {7, 6, 2, 2, 2, 2, 2, 2}, DType::f32, View::permuted);
    add(list, kind, 1, {0, 5}, DType::f32, View::contiguous);
  }
  add_extreme_reductions(list);
}

}  // namespace wick::conformance
