// sort: elements in order along the last dimension, and the order itself. Gradients of values are those of gather by the order.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/host_elements.h"
#include "wick/tensor/ops/index_ids.h"
#include "wick/tensor/ops/selection.h"

namespace wick {
namespace {

// NaN is larger than any number, and equal to itself.
bool is_less(double lhs, double rhs) { return std::isnan(rhs) ? !std::isnan(lhs) : lhs < rhs; }

void sort_reference(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const bool descending = static_cast<const SortParams*>(params)->descending;
  const auto length = static_cast<size_t>(inputs[0].shape.last());
  const auto kept = static_cast<size_t>(outputs[0].shape.last());
  std::vector<size_t> order(length);
  for (size_t row = 0; row * length < inputs[0].values.size(); ++row) {
    const double* x = inputs[0].values.data() + row * length;
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return descending ? is_less(x[b], x[a]) : is_less(x[a], x[b]); });
    for (size_t i = 0; i < kept; ++i) {
      outputs[0].values[row * kept + i] = x[order[i]];
      outputs[1].values[row * kept + i] = static_cast<double>(order[i]);
    }
  }
}

// The first `count` of the order along the last dimension: values and indices.
std::pair<Tensor, Tensor> ordered(std::string_view name, const Tensor& x, bool descending, int64_t count) {
  check_dtype(OpId::sort, name, x);
  const int last = x.rank() - 1;
  if (x.shape()[last] > std::numeric_limits<uint32_t>::max()) {
    fail(ErrorCode::unsupported, "{}: the last dimension of {} is too long for indices of u32", name, x.describe());
  }
  const Shape shape = with_extent(x.shape(), last, count);
  const Tensor values = make_result(name, shape, x.dtype(), x.device());
  const Tensor indices = make_result(name, shape, DType::u32, x.device());
  const Tensor untracked = x.detach();
  const SortParams params{descending};
  dispatch(OpId::sort, &params, {&untracked}, {&values, &indices});
  return {x.is_tracked() ? x.gather(indices, last) : values, indices};
}

std::pair<Tensor, Tensor> ordered_along(std::string_view name, const Tensor& x, int axis, bool descending, int64_t count) {
  if (axis == x.rank() - 1) return ordered(name, x, descending, count);
  const auto [values, indices] = ordered(name, x.transpose(axis, -1), descending, count);
  return {values.transpose(axis, -1).contiguous(), indices.transpose(axis, -1).contiguous()};
}

// The dtype in which the CPU finds the k-th of a row without ordering the rest: one with the same order; none where there is none.
std::optional<DType> selection_dtype(const Tensor& x) {
  if (!x.device().is_cpu() || x.device().runtime().is_recording()) return std::nullopt;
  switch (x.dtype()) {
    case DType::f8e4m3:
    case DType::f16:
    case DType::bf16:
    case DType::f32: return DType::f32;
    case DType::u8:
    case DType::i8:
    case DType::i16:
    case DType::i32: return DType::i32;
    case DType::u32: return DType::u32;
    default: return std::nullopt;
  }
}

// Where the k-th smallest along the dimension is, which stays with extent 1; NaN comes before all others.
Tensor kth_place(std::string_view name, const Tensor& x, int axis, int64_t k, DType dtype) {
  const Tensor rows = x.detach().transpose(axis, -1).to_dtype(dtype).contiguous();
  const Shape shape = with_extent(rows.shape(), rows.rank() - 1, 1);
  const Tensor places = make_result(name, shape, DType::u32, x.device());
  if (places.elements() == 0) return places.transpose(axis, -1);
  const auto find = [&]<class T>(T) {
    const auto* values = reinterpret_cast<const T*>(host_elements(rows));
    auto* to = reinterpret_cast<uint32_t*>(host_elements(places));
    write_kth_places(std::span(values, static_cast<size_t>(rows.elements())), rows.shape().last(), k, to);
  };
  dtype == DType::f32 ? find(float{}) : dtype == DType::i32 ? find(int32_t{}) : find(uint32_t{});
  return places.transpose(axis, -1).contiguous();
}

// The same by the whole order.
Tensor kth_place_by_order(std::string_view name, const Tensor& x, int axis, int64_t k) {
  const Tensor order = ordered_along(name, x.detach(), axis, false, x.shape()[axis]).second;
  const Tensor chosen = order.narrow(axis, k, 1);
  if (!is_float(x.dtype())) return chosen.contiguous();
  const Tensor missing = x.detach().isnan();
  return missing.max_keepdim(axis).where_cond(missing.argmax_keepdim(axis), chosen).contiguous();
}

}  // namespace

const OpRule rules::sort = {
    .defining_operand = 0, .reference = sort_reference, .unsupported = refuse_quantized, .gradient_kind = GradientKind::none};

Tensor Tensor::arg_sort_last_dim(bool ascending) const {
  check_assigned("arg_sort_last_dim", *this);
  (void)resolve_dim("arg_sort_last_dim", -1, shape());
  return ordered("arg_sort_last_dim", detach(), !ascending, shape().last()).second;
}

std::pair<Tensor, Tensor> Tensor::sort_last_dim(bool ascending) const {
  check_assigned("sort_last_dim", *this);
  (void)resolve_dim("sort_last_dim", -1, shape());
  return ordered("sort_last_dim", *this, !ascending, shape().last());
}

std::pair<Tensor, Tensor> Tensor::topk(int64_t k, int dim, bool largest) const {
  check_assigned("topk", *this);
  const int axis = resolve_dim("topk", dim, shape());
  if (k < 0 || k > shape()[axis]) {
    fail(ErrorCode::invalid_argument, "topk: k is {} for dimension {} of shape {}; allowed: 0 to {}", k, dim, shape().to_string(),
         shape()[axis]);
  }
  return ordered_along("topk", *this, axis, largest, k);
}

std::pair<Tensor, Tensor> Tensor::sort(int dim, bool descending) const {
  check_assigned("sort", *this);
  const int axis = resolve_dim("sort", dim, shape());
  return ordered_along("sort", *this, axis, descending, shape()[axis]);
}

Tensor Tensor::argsort(int dim, bool descending) const {
  check_assigned("argsort", *this);
  const int axis = resolve_dim("argsort", dim, shape());
  return ordered_along("argsort", detach(), axis, descending, shape()[axis]).second;
}

std::pair<Tensor, Tensor> Tensor::median(int dim) const {
  check_assigned("median", *this);
  const int axis = resolve_dim("median", dim, shape());
  const int64_t count = shape()[axis];
  if (count == 0) fail(ErrorCode::shape_mismatch, "median: {} has no elements in dimension {}", describe(), dim);
  check_dtype(OpId::sort, "median", *this);
  if (count > std::numeric_limits<uint32_t>::max()) {
    fail(ErrorCode::unsupported, "median: dimension {} of {} is too long for indices of u32", dim, describe());
  }
  const std::optional<DType> selected = selection_dtype(*this);
  const int64_t middle = (count - 1) / 2;
  const Tensor chosen = selected ? kth_place("median", *this, axis, middle, *selected) : kth_place_by_order("median", *this, axis, middle);
  return {gather(chosen, axis).squeeze(axis), chosen.squeeze(axis)};
}

Tensor Tensor::median_all() const {
  check_assigned("median_all", *this);
  return flatten_all().median(0).first;
}

}  // namespace wick
