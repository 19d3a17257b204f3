// rope: both pairings, part of a head rotated, tables shared by all tokens.
#include "tensor/ops/rope.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conformance/case.h"

namespace wick::conformance {
namespace {

// a·cos − b·sin: three roundings of terms no larger than the largest element of the head.
Bound rope_bound(DType dtype) {
  return [u = roundoff(dtype)](Inputs inputs, const ReferenceTensor& expected) {
    const auto n = static_cast<size_t>(expected.shape.last());
    std::vector<double> bounds(expected.values.size());
    for (size_t row = 0; row < bounds.size(); row += n) {
      double largest = 0;
      for (size_t i = 0; i < n; ++i) largest = std::max(largest, std::fabs(inputs[0].values[row + i]));
      std::fill_n(bounds.begin() + static_cast<std::ptrdiff_t>(row), n, 6 * u * largest);
    }
    return bounds;
  };
}

void add(CaseList& list, const Shape& shape, int64_t pairs, RopeStyle style, DType dtype, View view, View table_view) {
  const char* style_name = style == RopeStyle::interleaved ? "interleaved" : "half_split";
  const std::string name =
      fmt::format("{}/pairs {}/{}/{}/table {}", shape.to_string(), pairs, style_name, to_string(view), to_string(table_view));
  list.add(OpId::rope, dtype, name, [=](Trial& trial) {
    const Tensor x = trial.input(shape, dtype, view);
    const Tensor table = trial.input({shape[0], pairs, 2}, DType::f32, table_view, {-1.2, 1.2});
    const RopeParams params{style};
    trial.expect(OpId::rope, &params, {&x, &table}, rope(x, table, style), rope_bound(dtype));
  });
}

}  // namespace

void add_rope_cases(CaseList& list) {
  for (const RopeStyle style : {RopeStyle::interleaved, RopeStyle::half_split}) {
    for (const int64_t head_dim : {2, 6, 8, 64, 70, 80, 128}) {
      for (const int64_t pairs : {head_dim / 2, head_dim / 4, int64_t{1}}) {
        if (pairs == 0) continue;
        add(list, {3, 5, head_dim}, pairs, style, DType::f32, View::contiguous, View::contiguous);
      }
    }
    add(list, {2, 3, 9}, 4, style, DType::f32, View::contiguous, View::contiguous);
    add(list, {2, 3, 9}, 0, style, DType::f32, View::contiguous, View::contiguous);
    const Shape shape{4, 3, 16};
    for (const View view : views_of(shape)) {
      for (const DType dtype : kFloatDTypes) add(list, shape, 8, style, dtype, view, View::contiguous);
    }
    for (const View view : views_of({4, 8, 2})) add(list, shape, 8, style, DType::f32, View::contiguous, view);
    add(list, {0, 3, 16}, 8, style, DType::f32, View::contiguous, View::contiguous);
    add(list, {3, 0, 16}, 8, style, DType::f32, View::contiguous, View::contiguous);
    add(list, {70, 33, 64}, 32, style, DType::f32, View::contiguous, View::contiguous);
  }
}

}  // namespace wick::conformance
