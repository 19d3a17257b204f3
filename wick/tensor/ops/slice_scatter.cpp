// A slice of one tensor put in the place of a part of another.
#include <algorithm>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/copy.h"
#include "wick/tensor/ops/index_ids.h"
#include "wick/tensor/tape.h"
#include "wick/tensor/tensor.h"

namespace wick {
namespace {

struct SliceParams {
  int dim;
  int64_t start;
};

int check_slice(std::string_view op, const Tensor& target, const Tensor& source, int dim, int64_t start) {
  const int axis = resolve_dim(op, dim, target.shape());
  if (source.dtype() != target.dtype()) {
    fail(ErrorCode::dtype_mismatch, "{}: source {} and {} differ in dtype; convert one", op, source.describe(), target.describe());
  }
  if (source.rank() != target.rank() || with_extent(source.shape(), axis, 0) != with_extent(target.shape(), axis, 0)) {
    fail(ErrorCode::shape_mismatch, "{}: source {} and {} may differ in dimension {} only", op, source.describe(), target.describe(), dim);
  }
  if (start < 0 || start > target.shape()[axis] - source.shape()[axis]) {
    fail(ErrorCode::index_out_of_range, "{}: start {} is out of range for source {} in dimension {} of {}; allowed: 0 to {}", op, start,
         source.describe(), dim, target.describe(), target.shape()[axis] - source.shape()[axis]);
  }
  return axis;
}

void slice_scatter_gradient(GradientContext& context) {
  const auto& [dim, start] = context.parameters<SliceParams>();
  const Tensor& g = context.gradient();
  const Shape& part = context.input_shape(1);
  if (context.wants(0)) context.give(0, g.slice_scatter(Tensor::zeros(part, g.dtype(), g.device()), dim, start));
  context.give(1, g.narrow(dim, start, part[dim]));
}

}  // namespace

Tensor Tensor::slice_scatter(const Tensor& source, int dim, int64_t start) const {
  check_assigned("slice_scatter", {{"the tensor", *this}, {"source", source}});
  const SliceParams params{check_slice("slice_scatter", *this, source, dim, start), start};
  Tensor result = detach().copy();
  wick::copy(source.detach(), result.narrow(params.dim, start, source.shape()[params.dim]));
  const Tensor* const inputs[] = {this, &source};
  record("slice_scatter", slice_scatter_gradient, bytes_of(params), inputs, result);
  return result;
}

void Tensor::slice_set(const Tensor& source, int dim, int64_t start) const {
  check_assigned("slice_set", {{"the tensor", *this}, {"source", source}});
  refuse_tracked("slice_set", {this, &source});
  refuse_repeated("slice_set", *this);
  const int axis = check_slice("slice_set", *this, source, dim, start);
  // A source in the same memory may overlap its target, but not be all of it: nothing would be written, and candle refuses it too.
  if (source.storage() == storage() && source.shape() == shape() && source.layout().offset() == layout().offset() &&
      std::ranges::equal(source.layout().strides(), layout().strides())) {
    fail(ErrorCode::invalid_argument, "slice_set: the source {} is the target itself; copy it first if that is meant", source.describe());
  }
  wick::copy(source.storage() == storage() ? source.copy() : source, narrow(axis, start, source.shape()[axis]));
}

}  // namespace wick
