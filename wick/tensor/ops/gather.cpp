// gather and scatter: elements read and written where ids say along one dimension.
#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/copy.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/index_ids.h"

namespace wick {
namespace {

void gather_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const int dim = static_cast<const IndexParams*>(params)->dim;
  const std::vector<size_t> ids = checked_ids(OpId::gather, inputs[1], dim, inputs[0].shape[dim]);
  const std::vector<size_t> places = chosen_places(ids, inputs[1].shape, inputs[0].shape, dim);
  for (size_t at = 0; at < places.size(); ++at) outputs[0].values[at] = places[at] == kNothing ? 0 : inputs[0].values[places[at]];
}

void scatter_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const auto& [dim, add] = *static_cast<const ScatterParams*>(params);
  ReferenceTensor& target = outputs[0];
  const std::vector<size_t> ids = checked_ids(OpId::scatter, inputs[0], dim, target.shape[dim]);
  const std::vector<size_t> places = chosen_places(ids, inputs[0].shape, target.shape, dim);
  for (size_t at = 0; at < places.size(); ++at) {
    if (places[at] == kNothing) continue;
    double& element = target.values[places[at]];
    element = add ? added(target.dtype, element, inputs[1].values[at]) : inputs[1].values[at];
  }
}

void gather_gradient(GradientContext& context) {
  const Tensor& g = context.gradient();
  const Tensor zeros = Tensor::zeros(context.input_shape(0), g.dtype(), g.device());
  context.give(0, zeros.scatter_add(context.input(1), g, context.parameters<IndexParams>().dim));
}

void scatter_add_gradient(GradientContext& context) {
  const Tensor& g = context.gradient();
  context.give(0, g);
  if (context.wants(2)) context.give(2, g.gather(context.input(1), context.parameters<ScatterParams>().dim));
}

// Which elements of the source stayed, as 1 and 0: those that find their own number where they wrote it.
Tensor survivors(const Tensor& ids, const Shape& target, int dim, DType dtype) {
  const auto count = static_cast<double>(ids.elements());
  const Tensor numbers = Tensor::arange(0, count, DType::i64, ids.device()).reshape(ids.shape());
  return Tensor::zeros(target, DType::i64, ids.device()).scatter(ids, numbers, dim).gather(ids, dim).eq(numbers).to_dtype(dtype);
}

void scatter_gradient(GradientContext& context) {
  const Tensor& g = context.gradient();
  const Tensor ids = context.input(1);
  const int dim = context.parameters<ScatterParams>().dim;
  if (context.wants(0)) context.give(0, g.scatter(ids, Tensor::zeros(ids.shape(), g.dtype(), g.device()), dim));
  if (context.wants(2)) context.give(2, g.gather(ids, dim) * survivors(ids, context.input_shape(0), dim, g.dtype()));
}

// Extents of `part` that are at most those of `whole`, but along dim.
void check_extents(std::string_view op, std::string_view what, const Tensor& part, const Tensor& whole, int dim) {
  bool fits = part.rank() == whole.rank();
  for (int d = 0; fits && d < part.rank(); ++d) fits = d == dim || part.shape()[d] <= whole.shape()[d];
  if (fits) return;
  fail(ErrorCode::shape_mismatch, "{}: {} {} and {}: but for dimension {}, extents must be at most the tensor's", op, what, part.describe(),
       whole.describe(), dim);
}

int check_scatter(std::string_view op, const Tensor& target, const Tensor& ids, const Tensor& source, int dim) {
  check_id_dtype(op, ids);
  check_dtype(OpId::scatter, op, target);
  if (source.dtype() != target.dtype()) {
    fail(ErrorCode::dtype_mismatch, "{}: source {} and {} differ in dtype; convert one", op, source.describe(), target.describe());
  }
  if (source.shape() != ids.shape()) {
    fail(ErrorCode::shape_mismatch, "{}: ids {} and source {} must have one shape", op, ids.describe(), source.describe());
  }
  const int axis = resolve_dim(op, dim, target.shape());
  check_extents(op, "ids", ids, target, axis);
  return axis;
}

void write(const Tensor& target, const Tensor& ids, const Tensor& source, const ScatterParams& params) {
  if (ids.elements() == 0) return;
  dispatch(OpId::scatter, &params, {&ids, &source}, {&target});
}

Tensor scattered(std::string_view name, const Tensor& x, const Tensor& ids, const Tensor& source, int dim, bool add) {
  check_assigned(name, {{"the tensor", x}, {"ids", ids}, {"source", source}});
  const ScatterParams params{check_scatter(name, x, ids, source, dim), add};
  Tensor result = x.detach().copy();
  write(result, ids.detach(), source.detach(), params);
  const Tensor* const inputs[] = {&x, &ids, &source};
  record(name, add ? scatter_add_gradient : scatter_gradient, bytes_of(params), inputs, result);
  return result;
}

void scatter_in_place(std::string_view name, const Tensor& target, const Tensor& ids, const Tensor& source, int dim, bool add) {
  check_assigned(name, {{"the tensor", target}, {"ids", ids}, {"source", source}});
  refuse_tracked(name, {&target, &source});
  refuse_repeated(name, target);
  const ScatterParams params{check_scatter(name, target, ids, source, dim), add};
  // What is written must not be what is still to be read.
  const auto apart = [&](const Tensor& tensor) {
    return tensor.storage()->shared_buffer() == target.storage()->shared_buffer() ? tensor.copy() : tensor;
  };
  write(target, apart(ids), apart(source), params);
}

}  // namespace

const OpRule rules::gather = {.defining_operand = 0,
                              .reference = gather_reference,
                              .unsupported = refuse_quantized,
                              .gradient_kind = GradientKind::function,
                              .gradient = gather_gradient};
// The tape sees scatter and scatter_add as wholes: the copy and the writes.
const OpRule rules::scatter = {
    .defining_operand = kFirstOutput, .reference = scatter_reference, .unsupported = refuse_quantized, .updates = true};

Tensor Tensor::gather(const Tensor& ids, int dim) const {
  check_assigned("gather", {{"the tensor", *this}, {"ids", ids}});
  check_id_dtype("gather", ids);
  check_dtype(OpId::gather, "gather", *this);
  const int axis = resolve_dim("gather", dim, shape());
  check_extents("gather", "ids", ids, *this, axis);
  Tensor result = make_result("gather", ids.shape(), dtype(), device());
  apply(OpId::gather, IndexParams{axis}, {this, &ids}, {&result});
  return result;
}

Tensor Tensor::scatter(const Tensor& ids, const Tensor& source, int dim) const {
  return scattered("scatter", *this, ids, source, dim, false);
}
Tensor Tensor::scatter_add(const Tensor& ids, const Tensor& source, int dim) const {
  return scattered("scatter_add", *this, ids, source, dim, true);
}
void Tensor::scatter_set(const Tensor& ids, const Tensor& source, int dim) const {
  scatter_in_place("scatter_set", *this, ids, source, dim, false);
}
void Tensor::scatter_add_set(const Tensor& ids, const Tensor& source, int dim) const {
  scatter_in_place("scatter_add_set", *this, ids, source, dim, true);
}

}  // namespace wick
