// Of whether elements are zero, NaN or infinite: functions of each element, any and all. All are comparisons and extremes of u8.
#include <limits>

#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/op_rule.h"

namespace wick {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor is_set(const Tensor& x, std::string_view name) {
  check_assigned(name, x);
  check_dtype(OpId::compare, name, x);
  return x.ne(0);
}

// The largest (smallest) of 0s and 1s; of none the smallest (largest) that there is.
Tensor extreme(std::string_view name, const Tensor& x, bool any, const Dims& dims, bool keep) {
  const Tensor set = is_set(x, name);
  (void)dims.resolve(set.shape(), name);
  if (set.elements() > 0) {
    if (any) return keep ? set.max_keepdim(dims) : set.max(dims);
    return keep ? set.min_keepdim(dims) : set.min(dims);
  }
  const Tensor sum = keep ? set.sum_keepdim(dims) : set.sum(dims);
  return any ? sum : sum.eq(0);
}

// Errors: shape_mismatch, naming the function that the user called.
void check_pair(std::string_view name, const Tensor& lhs, const Tensor& rhs) { (void)broadcast_shapes(lhs.shape(), rhs.shape(), name); }

}  // namespace

Tensor Tensor::logical_and(const Tensor& other) const {
  check_assigned("logical_and", {{"the tensor", *this}, {"other", other}});
  check_pair("logical_and", *this, other);
  return is_set(*this, "logical_and").minimum(is_set(other, "logical_and"));
}
Tensor Tensor::logical_or(const Tensor& other) const {
  check_assigned("logical_or", {{"the tensor", *this}, {"other", other}});
  check_pair("logical_or", *this, other);
  return is_set(*this, "logical_or").maximum(is_set(other, "logical_or"));
}
Tensor Tensor::logical_xor(const Tensor& other) const {
  check_assigned("logical_xor", {{"the tensor", *this}, {"other", other}});
  check_pair("logical_xor", *this, other);
  return is_set(*this, "logical_xor").ne(is_set(other, "logical_xor"));
}
Tensor Tensor::logical_not() const {
  check_assigned("logical_not", *this);
  check_dtype(OpId::compare, "logical_not", *this);
  return eq(0);
}

Tensor Tensor::isnan() const {
  check_assigned("isnan", *this);
  check_dtype(OpId::compare, "isnan", *this);
  return ne(*this);
}
Tensor Tensor::isinf() const {
  check_assigned("isinf", *this);
  check_dtype(OpId::compare, "isinf", *this);
  return is_integer(dtype()) ? zeros(shape(), DType::u8, device()) : detach().abs().eq(kInfinity);
}
Tensor Tensor::isfinite() const {
  check_assigned("isfinite", *this);
  check_dtype(OpId::compare, "isfinite", *this);
  return is_integer(dtype()) ? ones(shape(), DType::u8, device()) : detach().abs().lt(kInfinity);
}

Tensor Tensor::any(const Dims& dims) const { return extreme("any", *this, true, dims, false); }
Tensor Tensor::all(const Dims& dims) const { return extreme("all", *this, false, dims, false); }
Tensor Tensor::any_keepdim(const Dims& dims) const { return extreme("any_keepdim", *this, true, dims, true); }
Tensor Tensor::all_keepdim(const Dims& dims) const { return extreme("all_keepdim", *this, false, dims, true); }
Tensor Tensor::any_all() const {
  check_assigned("any_all", *this);
  return flatten_all().any(0);
}
Tensor Tensor::all_all() const {
  check_assigned("all_all", *this);
  return flatten_all().all(0);
}

}  // namespace wick
