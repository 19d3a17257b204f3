// Reductions over any dimensions: the reduced ones are moved to the end by a view, so that every device sees one form of the op.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/op_rule.h"
#include "wick/tensor/ops/reduce.h"
#include "wick/tensor/ops/reference.h"

namespace wick {
namespace {

bool gives_index(ReduceKind kind) { return kind == ReduceKind::argmin || kind == ReduceKind::argmax; }

// The place of the smallest (largest) value; NaN is more extreme than any.
size_t extreme_place(std::span<const double> values, bool smallest) {
  size_t best = 0;
  for (size_t i = 1; i < values.size() && !std::isnan(values[best]); ++i) {
    const bool better = smallest ? values[i] < values[best] : values[i] > values[best];
    if (better || std::isnan(values[i])) best = i;
  }
  return best;
}

double sum_of(std::span<const double> values, DType dtype) {
  if (is_integer(dtype)) {
    uint64_t sum = 0;
    for (const double value : values) sum += static_cast<uint64_t>(as_integer(value));
    return wrap_integer(dtype, static_cast<int64_t>(sum));
  }
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

double reduced(ReduceKind kind, std::span<const double> values, DType dtype) {
  switch (kind) {
    case ReduceKind::sum: return sum_of(values, dtype);
    case ReduceKind::mean: return sum_of(values, DType::f64) / static_cast<double>(values.size());
    case ReduceKind::min: return values[extreme_place(values, true)];
    case ReduceKind::max: return values[extreme_place(values, false)];
    case ReduceKind::argmin: return static_cast<double>(extreme_place(values, true));
    case ReduceKind::argmax: return static_cast<double>(extreme_place(values, false));
  }
  return 0;
}

void reduce_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const ReduceKind kind = static_cast<const ReduceParams*>(params)->kind;
  const size_t results = outputs[0].values.size();
  const size_t length = results == 0 ? 0 : inputs[0].values.size() / results;
  for (size_t i = 0; i < results; ++i) {
    outputs[0].values[i] = reduced(kind, std::span(inputs[0].values).subspan(i * length, length), inputs[0].dtype);
  }
}

// `kept` with extents of 1 in place of the reduced dimensions, which are the last ones of `full`, and stretched over them.
Tensor stretch(const Tensor& kept, const Shape& full) {
  std::vector<int64_t> dims(kept.dims().begin(), kept.dims().end());
  dims.resize(static_cast<size_t>(full.rank()), 1);
  return kept.reshape(Shape(std::span<const int64_t>(dims))).broadcast_to(full);
}

void reduce_gradient(GradientContext& context) {
  const ReduceParams& params = context.parameters<ReduceParams>();
  if (gives_index(params.kind)) return;
  const Shape& full = context.input_shape(0);
  const Tensor g = stretch(context.gradient(), full);
  if (params.kind == ReduceKind::sum) return context.give(0, g);
  const auto count = static_cast<double>(full.elements()) / static_cast<double>(context.gradient().elements());
  if (params.kind == ReduceKind::mean) return context.give(0, g * (1 / count));
  // Ties share the gradient.
  const Tensor x = context.input(0);
  const Tensor chosen = x.eq(stretch(context.output().detach(), full)).to_dtype(x.dtype());
  std::vector<int> last;
  for (int dim = full.rank() - params.dims; dim < full.rank(); ++dim) last.push_back(dim);
  context.give(0, g * (chosen / chosen.sum_keepdim(Dims(last))));
}

// What a reduction over no element gives: a sum is 0, a mean NaN; the others have no value. Tracked where x is.
Tensor reduce_nothing(const ReduceParams& params, std::string_view name, const Tensor& x, const Shape& shape) {
  if (params.kind != ReduceKind::sum && params.kind != ReduceKind::mean) {
    fail(ErrorCode::shape_mismatch, "{}: {} has no elements along the reduced dimensions", name, x.describe());
  }
  const double value = params.kind == ReduceKind::sum ? 0 : std::numeric_limits<double>::quiet_NaN();
  Tensor result = Tensor::full(shape, value, x.dtype(), x.device());
  const Tensor* input = &x;
  record(to_string(OpId::reduce), rules::reduce.gradient, bytes_of(params), std::span(&input, 1), result);
  return result;
}

Tensor reduce(std::string_view name, ReduceKind kind, const Tensor& x, const std::vector<int>& dims) {
  check_dtype(OpId::reduce, name, x);
  if (kind == ReduceKind::mean && is_integer(x.dtype())) {
    fail(ErrorCode::unsupported, "{}: not defined for {}: {}", name, x.describe(), kFloatsOnly);
  }
  std::vector<int> order;
  std::vector<int64_t> kept;
  for (int dim = 0; dim < x.rank(); ++dim) {
    if (std::find(dims.begin(), dims.end(), dim) != dims.end()) continue;
    order.push_back(dim);
    kept.push_back(x.shape()[dim]);
  }
  order.insert(order.end(), dims.begin(), dims.end());
  const Shape shape{std::span<const int64_t>(kept)};
  const ReduceParams params{kind, static_cast<int>(dims.size())};
  const Tensor arranged = std::is_sorted(order.begin(), order.end()) ? x : x.permute(order);
  if (x.elements() == 0 && shape.elements() > 0) return reduce_nothing(params, name, arranged, shape);
  Tensor result = make_result(name, shape, gives_index(kind) ? DType::u32 : x.dtype(), x.device());
  if (gives_index(kind)) {
    const Tensor untracked = arranged.detach();
    apply(OpId::reduce, params, {&untracked}, {&result});
  } else {
    apply(OpId::reduce, params, {&arranged}, {&result});
  }
  return result;
}

Tensor with_kept_dims(const Tensor& result, const Shape& full, const std::vector<int>& dims) {
  std::vector<int64_t> extents(full.dims().begin(), full.dims().end());
  for (const int dim : dims) extents[static_cast<size_t>(dim)] = 1;
  return result.reshape(Shape(std::span<const int64_t>(extents)));
}

// `name` is the function that the user called.
Tensor reduce_dims(std::string_view name, ReduceKind kind, const Tensor& x, const Dims& dims, bool keep) {
  check_assigned(name, x);
  const std::vector<int> resolved = dims.resolve(x.shape(), name);
  const Tensor result = reduce(name, kind, x, resolved);
  return keep ? with_kept_dims(result, x.shape(), resolved) : result;
}

Tensor reduce_all(ReduceKind kind, const Tensor& x) {
  check_assigned(to_string(kind), x);
  std::vector<int> dims;
  for (int dim = 0; dim < x.rank(); ++dim) dims.push_back(dim);
  return reduce(to_string(kind), kind, x, dims);
}

Tensor variance(std::string_view name, const Tensor& x, const Dims& dims, bool keep) {
  check_assigned(name, x);
  const std::vector<int> resolved = dims.resolve(x.shape(), name);
  if (!is_float(x.dtype())) fail(ErrorCode::unsupported, "{}: not defined for {}: {}", name, x.describe(), kFloatsOnly);
  int64_t count = 1;
  for (const int dim : resolved) count *= x.shape()[dim];
  const Tensor squares = (x - x.mean_keepdim(dims)).sqr();
  const Tensor sum = keep ? squares.sum_keepdim(dims) : squares.sum(dims);
  return sum / static_cast<double>(std::max<int64_t>(count - 1, 0));
}

}  // namespace

const OpRule rules::reduce = {.defining_operand = 0,
                              .reference = reduce_reference,
                              .unsupported = refuse_quantized,
                              .gradient_kind = GradientKind::function,
                              .gradient = reduce_gradient};

Tensor Tensor::sum(const Dims& dims) const { return reduce_dims("sum", ReduceKind::sum, *this, dims, false); }
Tensor Tensor::mean(const Dims& dims) const { return reduce_dims("mean", ReduceKind::mean, *this, dims, false); }
Tensor Tensor::var(const Dims& dims) const { return variance("var", *this, dims, false); }
Tensor Tensor::min(const Dims& dims) const { return reduce_dims("min", ReduceKind::min, *this, dims, false); }
Tensor Tensor::max(const Dims& dims) const { return reduce_dims("max", ReduceKind::max, *this, dims, false); }
Tensor Tensor::argmin(int dim) const { return reduce_dims("argmin", ReduceKind::argmin, *this, dim, false); }
Tensor Tensor::argmax(int dim) const { return reduce_dims("argmax", ReduceKind::argmax, *this, dim, false); }
Tensor Tensor::sum_keepdim(const Dims& dims) const { return reduce_dims("sum_keepdim", ReduceKind::sum, *this, dims, true); }
Tensor Tensor::mean_keepdim(const Dims& dims) const { return reduce_dims("mean_keepdim", ReduceKind::mean, *this, dims, true); }
Tensor Tensor::var_keepdim(const Dims& dims) const { return variance("var_keepdim", *this, dims, true); }
Tensor Tensor::min_keepdim(const Dims& dims) const { return reduce_dims("min_keepdim", ReduceKind::min, *this, dims, true); }
Tensor Tensor::max_keepdim(const Dims& dims) const { return reduce_dims("max_keepdim", ReduceKind::max, *this, dims, true); }
Tensor Tensor::argmin_keepdim(int dim) const { return reduce_dims("argmin_keepdim", ReduceKind::argmin, *this, dim, true); }
Tensor Tensor::argmax_keepdim(int dim) const { return reduce_dims("argmax_keepdim", ReduceKind::argmax, *this, dim, true); }
Tensor Tensor::sum_all() const { return reduce_all(ReduceKind::sum, *this); }
Tensor Tensor::mean_all() const { return reduce_all(ReduceKind::mean, *this); }
Tensor Tensor::min_all() const { return reduce_all(ReduceKind::min, *this); }
Tensor Tensor::max_all() const { return reduce_all(ReduceKind::max, *this); }

Tensor root_of_squares(const Tensor& x) {
  if (!x.is_tracked()) return x.sqrt();
  const Tensor is_zero = x.detach().eq(0.0);
  return is_zero.where_cond(x.zeros_like(), is_zero.where_cond(x.ones_like(), x).sqrt());
}

Tensor sum(const Tensor& x, const Dims& dims, DType dtype, bool keep) {
  constexpr int64_t kConvertedElements = 1 << 17;  // the copy of a part stays in a core's cache
  check_assigned("sum", x);
  const std::vector<int> resolved = dims.resolve(x.shape(), "sum");
  if (x.dtype() == dtype || x.elements() <= kConvertedElements || x.is_tracked()) {
    return reduce_dims("sum", ReduceKind::sum, x.to_dtype(dtype), dims, keep);
  }
  int longest = 0;
  for (int dim = 1; dim < x.rank(); ++dim) {
    if (x.shape()[dim] > x.shape()[longest]) longest = dim;
  }
  const bool is_reduced = std::find(resolved.begin(), resolved.end(), longest) != resolved.end();
  const int64_t extent = x.shape()[longest];
  const int64_t step = std::max<int64_t>(1, kConvertedElements / (x.elements() / extent));
  std::vector<Tensor> parts;
  for (int64_t start = 0; start < extent; start += step) {
    const Tensor part = x.narrow(longest, start, std::min(step, extent - start)).to_dtype(dtype).sum_keepdim(dims);
    if (is_reduced && !parts.empty()) {
      parts.front() = parts.front() + part;
    } else {
      parts.push_back(part);
    }
  }
  Tensor result = parts.size() == 1 ? parts.front() : Tensor::cat(parts, longest);
  if (keep) return result;
  std::vector<int64_t> extents;
  for (int dim = 0; dim < x.rank(); ++dim) {
    if (std::find(resolved.begin(), resolved.end(), dim) == resolved.end()) extents.push_back(x.shape()[dim]);
  }
  return result.reshape(Shape(std::span<const int64_t>(extents)));
}

Tensor Tensor::std(const Dims& dims) const { return root_of_squares(variance("std", *this, dims, false)); }
Tensor Tensor::std_keepdim(const Dims& dims) const { return root_of_squares(variance("std_keepdim", *this, dims, true)); }
Tensor Tensor::var_all() const {
  check_assigned("var_all", *this);
  return variance("var", flatten_all(), 0, false);
}
Tensor Tensor::std_all() const {
  check_assigned("std_all", *this);
  return root_of_squares(variance("std", flatten_all(), 0, false));
}

Tensor Tensor::norm() const {
  check_assigned("norm", *this);
  if (!is_float(dtype())) fail(ErrorCode::unsupported, "norm: not defined for {}: {}", describe(), kFloatsOnly);
  return root_of_squares(sqr().sum_all());
}

Tensor Tensor::log_sum_exp(const Dims& dims) const {
  check_assigned("log_sum_exp", *this);
  const std::vector<int> resolved = dims.resolve(shape(), "log_sum_exp");
  if (!is_float(dtype())) fail(ErrorCode::unsupported, "log_sum_exp: not defined for {}: {}", describe(), kFloatsOnly);
  if (elements() == 0) return sum(dims).log();  // nothing has a largest element
  const Tensor largest = detach().max_keepdim(dims);
  // Where the largest is infinite, the difference is not a number; there nothing is subtracted.
  const Tensor finite = largest.abs().lt(std::numeric_limits<double>::infinity());
  const Tensor shift = finite.where_cond(largest, largest.zeros_like());
  const Tensor sum = (*this - shift).exp().sum(dims).log();
  return sum + shift.reshape(sum.shape());
}

}  // namespace wick
