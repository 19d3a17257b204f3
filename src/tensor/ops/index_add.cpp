// index_select and index_add: whole slices of a dimension, read and added to by number.
#include <vector>

#include "base/error.h"
#include "tensor/ops/dispatch.h"
#include "tensor/ops/op_rule.h"

namespace wick {
namespace {

// A dimension seen as [outer, extent, inner].
struct Split {
  size_t outer = 1;
  size_t extent = 1;
  size_t inner = 1;

  Split(const Shape& shape, int dim) : extent(static_cast<size_t>(shape[dim])) {
    for (int before = 0; before < dim; ++before) outer *= static_cast<size_t>(shape[before]);
    for (int after = dim + 1; after < shape.rank(); ++after) inner *= static_cast<size_t>(shape[after]);
  }
};

size_t checked_id(const ReferenceTensor& ids, size_t at, size_t extent, std::string_view op) {
  const double id = ids.values[at];
  if (id < 0 || id >= static_cast<double>(extent)) {
    fail(ErrorCode::index_out_of_range, "{}: id {} at {} is outside the dimension's {} slices", op, id, at, extent);
  }
  return static_cast<size_t>(id);
}

void select_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const Split from(inputs[0].shape, static_cast<const IndexParams*>(params)->dim);
  const size_t count = inputs[1].values.size();
  for (size_t at = 0; at < outputs[0].values.size(); ++at) {
    const size_t slice = at / from.inner % count;
    const size_t id = checked_id(inputs[1], slice, from.extent, "index_select");
    outputs[0].values[at] = inputs[0].values[(at / from.inner / count * from.extent + id) * from.inner + at % from.inner];
  }
}

void add_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const Split into(outputs[0].shape, static_cast<const IndexParams*>(params)->dim);
  const size_t count = inputs[0].values.size();
  for (size_t at = 0; at < count; ++at) (void)checked_id(inputs[0], at, into.extent, "index_add");
  for (size_t at = 0; at < inputs[1].values.size(); ++at) {
    const size_t id = checked_id(inputs[0], at / into.inner % count, into.extent, "index_add");
    outputs[0].values[(at / into.inner / count * into.extent + id) * into.inner + at % into.inner] += inputs[1].values[at];
  }
}

void select_gradient(GradientContext& context) {
  const Tensor& g = context.gradient();
  const Tensor zeros = Tensor::zeros(context.input_shape(0), g.dtype(), g.device());
  context.give(0, zeros.index_add(context.input(1), g, context.parameters<IndexParams>().dim));
}

void check_ids(std::string_view op, const Tensor& ids) {
  if (ids.dtype() != DType::u8 && ids.dtype() != DType::u32 && ids.dtype() != DType::i64) {
    fail(ErrorCode::dtype_mismatch, "{}: ids {} must be u8, u32 or i64", op, ids.describe());
  }
  if (ids.rank() != 1) fail(ErrorCode::shape_mismatch, "{}: ids {} must be a vector", op, ids.describe());
}

Shape with_extent(const Shape& shape, int dim, int64_t extent) {
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims[static_cast<size_t>(dim)] = extent;
  return Shape(std::span<const int64_t>(dims));
}

}  // namespace

const OpRule kIndexSelectRule = {.op = OpId::index_select,
                                 .defining_operand = 0,
                                 .reference = select_reference,
                                 .hole = refuse_quantized,
                                 .gradient_kind = GradientKind::function,
                                 .gradient = select_gradient};
// The tape sees index_add as a whole: the copy and the additions.
const OpRule kIndexAddRule = {
    .op = OpId::index_add, .defining_operand = kFirstOutput, .reference = add_reference, .hole = refuse_quantized, .updates = true};

Tensor Tensor::index_select(const Tensor& ids, int dim) const {
  check_ids("index_select", ids);
  check_dtype(OpId::index_select, "index_select", *this);
  const int axis = normalize_axis(dim);
  Tensor result = empty(with_extent(shape(), axis, ids.elements()), dtype(), device());
  const Tensor order = ids.contiguous();
  apply(OpId::index_select, IndexParams{axis}, {this, &order}, {&result});
  return result;
}

Tensor Tensor::index_add(const Tensor& ids, const Tensor& source, int dim) const {
  check_ids("index_add", ids);
  check_dtype(OpId::index_add, "index_add", *this);
  const int axis = normalize_axis(dim);
  if (source.dtype() != dtype()) fail(ErrorCode::dtype_mismatch, "index_add: {} into {}", source.describe(), describe());
  if (source.rank() != rank() || source.shape() != with_extent(shape(), axis, ids.elements())) {
    fail(ErrorCode::shape_mismatch, "index_add: source {} into {} along dimension {} by {} ids", source.describe(), describe(), dim,
         ids.elements());
  }
  Tensor result = detach().copy();
  const Tensor order = ids.contiguous();
  if (source.elements() > 0) {
    const Tensor slices = source.detach();
    const IndexParams params{axis};
    dispatch(OpId::index_add, &params, {&order, &slices}, {&result});
  }
  const auto gradient = [axis](GradientContext& context) {
    context.give(0, context.gradient());
    if (context.wants(2)) context.give(2, context.gradient().index_select(context.input(1), axis));
  };
  const Tensor* const inputs[] = {this, &order, &source};
  record("index_add", gradient, inputs, result);
  return result;
}

}  // namespace wick
