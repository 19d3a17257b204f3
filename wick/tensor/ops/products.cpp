// prod and cumprod: products of pairs, of pairs of pairs and so on, so that gradients are right where factors are zero.
#include <algorithm>
#include <vector>

#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/op_rule.h"

namespace wick {
namespace {

// What products of narrow floats are made in.
Tensor widened(const Tensor& x, std::string_view name) {
  check_dtype(OpId::binary, name, x);
  const bool narrow = is_float(x.dtype()) && x.dtype() != DType::f32 && x.dtype() != DType::f64;
  return narrow ? x.to_dtype(DType::f32) : x;
}

Tensor product_of_last(Tensor x) {
  const int last = x.rank() - 1;
  while (x.shape()[last] > 1) {
    const int64_t count = x.shape()[last], half = count / 2;
    const Tensor pairs = x.narrow(last, 0, half) * x.narrow(last, half, half);
    x = count % 2 == 0 ? pairs : Tensor::cat({pairs, x.narrow(last, count - 1, 1)}, last);
  }
  return x;
}

Tensor product(std::string_view name, const Tensor& x, const Dims& dims, bool keep) {
  check_assigned(name, x);
  const std::vector<int> reduced = dims.resolve(x.shape(), name);
  std::vector<int> order;
  std::vector<int64_t> left, kept(x.dims().begin(), x.dims().end());
  int64_t count = 1;
  for (int dim = 0; dim < x.rank(); ++dim) {
    if (std::find(reduced.begin(), reduced.end(), dim) != reduced.end()) {
      count *= x.shape()[dim];
      kept[static_cast<size_t>(dim)] = 1;
    } else {
      order.push_back(dim);
      left.push_back(x.shape()[dim]);
    }
  }
  order.insert(order.end(), reduced.begin(), reduced.end());
  const Shape shape{std::span<const int64_t>(keep ? kept : left)};
  if (count == 0) return Tensor::ones(shape, x.dtype(), x.device());
  left.push_back(count);
  const Tensor rows = widened(x, name).permute(order).reshape(Shape{std::span<const int64_t>(left)});
  const Tensor result = product_of_last(rows).reshape(shape).to_dtype(x.dtype());
  return count == 1 ? result.copy() : result;  // no view of x
}

}  // namespace

Tensor Tensor::prod(const Dims& dims) const { return product("prod", *this, dims, false); }
Tensor Tensor::prod_keepdim(const Dims& dims) const { return product("prod_keepdim", *this, dims, true); }
Tensor Tensor::prod_all() const {
  check_assigned("prod_all", *this);
  return flatten_all().prod(0);
}

// After the step of distance d, each element is the product of the last 2d up to its own (Hillis & Steele 1986).
Tensor Tensor::cumprod(int dim) const {
  check_assigned("cumprod", *this);
  const int axis = resolve_dim("cumprod", dim, shape());
  const int64_t count = shape()[axis];
  Tensor products = widened(*this, "cumprod");
  for (int64_t distance = 1; distance < count; distance *= 2) {
    const Tensor later = products.narrow(axis, distance, count - distance) * products.narrow(axis, 0, count - distance);
    products = cat({products.narrow(axis, 0, distance), later}, axis);
  }
  return count > 1 ? products.to_dtype(dtype()) : copy();
}

}  // namespace wick
