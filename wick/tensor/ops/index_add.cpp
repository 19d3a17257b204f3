// index_select and index_add: whole slices of a dimension, read and added to by number.
#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/embedding.h"
#include "wick/tensor/ops/index_ids.h"

namespace wick {
namespace {

// One id for each slice, for every element of a tensor of shape `full`.
std::vector<size_t> spread(const std::vector<size_t>& ids, const Shape& full, int dim) {
  size_t inner = 1;
  for (int after = dim + 1; after < full.rank(); ++after) inner *= static_cast<size_t>(full[after]);
  std::vector<size_t> all(static_cast<size_t>(full.elements()));
  for (size_t at = 0; at < all.size(); ++at) all[at] = ids[at / inner % ids.size()];
  return all;
}

void select_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const int dim = static_cast<const IndexParams*>(params)->dim;
  const std::vector<size_t> ids = checked_ids(OpId::index_select, inputs[1], dim, inputs[0].shape[dim]);
  const std::vector<size_t> places = chosen_places(spread(ids, outputs[0].shape, dim), outputs[0].shape, inputs[0].shape, dim);
  for (size_t at = 0; at < places.size(); ++at) outputs[0].values[at] = places[at] == kNothing ? 0 : inputs[0].values[places[at]];
}

void add_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const int dim = static_cast<const IndexParams*>(params)->dim;
  ReferenceTensor& target = outputs[0];
  const std::vector<size_t> ids = checked_ids(OpId::index_add, inputs[0], dim, target.shape[dim]);
  const std::vector<size_t> places = chosen_places(spread(ids, inputs[1].shape, dim), inputs[1].shape, target.shape, dim);
  for (size_t at = 0; at < places.size(); ++at) {
    if (places[at] == kNothing) continue;
    double& element = target.values[places[at]];
    element = added(target.dtype, element, inputs[1].values[at]);
  }
}

void select_gradient(GradientContext& context) {
  const Tensor& g = context.gradient();
  const Tensor zeros = Tensor::zeros(context.input_shape(0), g.dtype(), g.device());
  context.give(0, zeros.index_add(context.input(1), g, context.parameters<IndexParams>().dim));
}

void check_ids(std::string_view op, const Tensor& ids) {
  check_id_dtype(op, ids);
  if (ids.rank() != 1) fail(ErrorCode::shape_mismatch, "{}: ids {} must be a vector", op, ids.describe());
}

}  // namespace

const OpRule rules::index_select = {.defining_operand = 0,
                                    .reference = select_reference,
                                    .unsupported = refuse_quantized,
                                    .gradient_kind = GradientKind::function,
                                    .gradient = select_gradient};
// The tape sees index_add as a whole: the copy and the additions.
const OpRule rules::index_add = {
    .defining_operand = kFirstOutput, .reference = add_reference, .unsupported = refuse_quantized, .updates = true};

Tensor Tensor::index_select(const Tensor& ids, int dim) const {
  check_assigned("index_select", {{"the tensor", *this}, {"ids", ids}});
  check_ids("index_select", ids);
  check_dtype(OpId::index_select, "index_select", *this);
  const int axis = resolve_dim("index_select", dim, shape());
  Tensor result = make_result("index_select", with_extent(shape(), axis, ids.elements()), dtype(), device());
  apply(OpId::index_select, IndexParams{axis}, {this, &ids}, {&result});
  return result;
}

Tensor Tensor::embedding(const Tensor& ids) const {
  check_assigned("embedding", {{"the tensor", *this}, {"ids", ids}});
  if (is_quantized(dtype())) return wick::embedding(*this, ids);
  if (rank() != 2) fail(ErrorCode::shape_mismatch, "embedding: the table {} must be [rows, width]", describe());
  std::vector<int64_t> extents(ids.dims().begin(), ids.dims().end());
  extents.push_back(shape()[1]);
  check_id_dtype("embedding", ids);
  return on_behalf_of("embedding", [&] { return index_select(ids.flatten_all(), 0); }).reshape(Shape(std::span<const int64_t>(extents)));
}

Tensor Tensor::index_add(const Tensor& ids, const Tensor& source, int dim) const {
  check_assigned("index_add", {{"the tensor", *this}, {"ids", ids}, {"source", source}});
  check_ids("index_add", ids);
  check_dtype(OpId::index_add, "index_add", *this);
  const int axis = resolve_dim("index_add", dim, shape());
  if (source.dtype() != dtype())
    fail(ErrorCode::dtype_mismatch, "index_add: source {} and {} differ in dtype; convert one", source.describe(), describe());
  if (source.rank() != rank() || source.shape() != with_extent(shape(), axis, ids.elements())) {
    fail(ErrorCode::shape_mismatch, "index_add: source {} for {} ids along dimension {} of {}; a source of shape {} is needed",
         source.describe(), ids.elements(), dim, describe(), with_extent(shape(), axis, ids.elements()).to_string());
  }
  Tensor result = detach().copy();
  if (source.elements() > 0) {
    const Tensor slices = source.detach();
    const IndexParams params{axis};
    dispatch(OpId::index_add, &params, {&ids, &slices}, {&result});
  }
  const auto gradient = [axis](GradientContext& context) {
    context.give(0, context.gradient());
    if (context.wants(2)) context.give(2, context.gradient().index_select(context.input(1), axis));
  };
  const Tensor* const inputs[] = {this, &ids, &source};
  record("index_add", gradient, inputs, result);
  return result;
}

}  // namespace wick
